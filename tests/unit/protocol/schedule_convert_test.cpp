// SPDX-License-Identifier: Apache-2.0
#include "protocol/schedule_convert.hpp"

#include "codeq/limits.hpp"

#include <gtest/gtest.h>

namespace codeq::protocol {
namespace {

schedule_spec spec_with(std::size_t payload_bytes) {
  schedule_spec spec;
  spec.rule = "every 1h";
  spec.task.queue = "mail";
  spec.task.payload = bytes(std::string(payload_bytes, 'x'));
  return spec;
}

/// The request that sets a schedule, as a coordinator with one shard reads it.
result<schedule_question> read_set(const schedule_spec& spec) {
  auto encoded = encode_spec(spec);
  if (!encoded)
    return encoded.error();
  auto request = schedule_request::build([&](auto to) {
    to.setNumber(1);
    to.setTenant("default");
    to.setName("nightly");
    auto copied = encoded->read([&](auto from) -> result<void> {
      to.setSet(from);
      return {};
    });
    EXPECT_TRUE(copied);
  });
  return read_schedule_request(request, {shard_id{0}, 1});
}

TEST(ScheduleConvert, ReadsAScheduleUpToItsLargestTask) {
  constexpr std::size_t other_bytes = 1024;
  for (std::size_t bytes : {0u, 390u, 2000u, unsigned(limits::schedule_bytes_max - other_bytes)}) {
    auto read = read_set(spec_with(bytes));
    ASSERT_TRUE(read) << bytes << ": " << to_string(read.error());
    auto shown = read_spec(*read->definition);
    ASSERT_TRUE(shown) << bytes << ": " << to_string(shown.error());
    EXPECT_EQ(bytes, shown->task.payload.size());
  }
}

TEST(ScheduleConvert, ReadsHeadersUpToTheirLimit) {
  auto spec = spec_with(0);
  spec.task.headers.emplace(std::string(limits::headers_bytes_max - 1024, 'n'), "");

  auto read = read_set(spec);

  ASSERT_TRUE(read) << to_string(read.error());
}

TEST(ScheduleConvert, TaskThatNamesNoTenantBelongsToThatOfItsSchedule) {
  auto encoded = encode_spec(spec_with(1), "shop");
  ASSERT_TRUE(encoded) << to_string(encoded.error());
  auto shown = encoded->read([](auto from) { return read_spec(from); });
  ASSERT_TRUE(shown) << to_string(shown.error());
  EXPECT_EQ("shop", shown->task.tenant);

  auto usual = read_set(spec_with(1));
  ASSERT_TRUE(usual) << to_string(usual.error());
  EXPECT_EQ("default", read_spec(*usual->definition)->task.tenant);
}

TEST(ScheduleConvert, PoliciesTravelAsTheirNames) {
  auto spec = spec_with(1);
  spec.misfire = misfire_policy::all;
  spec.overlap = overlap_policy::cancel_previous;
  auto encoded = encode_spec(spec);
  ASSERT_TRUE(encoded) << to_string(encoded.error());

  auto texts = encoded->read([](auto from) -> result<std::string> {
    return from.getMisfire().cStr() + std::string(" ") + from.getOverlap().cStr();
  });
  EXPECT_EQ("all cancel_previous", *texts);
  auto shown = encoded->read([](auto from) { return read_spec(from); });
  ASSERT_TRUE(shown) << to_string(shown.error());
  EXPECT_EQ(shown->misfire, misfire_policy::all);
  EXPECT_EQ(shown->overlap, overlap_policy::cancel_previous);
}

TEST(ScheduleConvert, RefusesAPolicyWithoutAName) {
  auto missed = spec_with(1);
  missed.misfire = misfire_policy{9};
  auto shown = encode_spec(missed)->read([](auto from) { return read_spec(from); });
  ASSERT_FALSE(shown);
  EXPECT_EQ("misfire: `unknown` is not latest, all or skip", shown.error().context);

  auto overlapping = spec_with(1);
  overlapping.overlap = overlap_policy{9};
  auto read = read_set(overlapping);
  ASSERT_FALSE(read);
  EXPECT_EQ(
    "overlap: `unknown` is not allow, skip, queue_one or cancel_previous", read.error().context);
}

TEST(ScheduleConvert, RefusesATaskWithATimeOfItsOwn) {
  auto delayed = spec_with(1);
  delayed.task.delay = std::chrono::seconds(1);
  auto timed = spec_with(1);
  timed.task.not_before = timestamp{duration{1'800'000'000'000}};

  for (const auto& spec : {delayed, timed}) {
    auto read = read_set(spec);
    ASSERT_FALSE(read);
    EXPECT_EQ(errc::invalid_argument, read.error().code) << to_string(read.error());
  }
}

TEST(ScheduleConvert, AddressWithoutATenantIsOfTheDefaultOne) {
  EXPECT_EQ("default", schedule_address{.name = "tick"}.tenant);
}

TEST(ScheduleConvert, RefusesATaskThatIsTooLarge) {
  auto read = read_set(spec_with(limits::schedule_bytes_max));
  ASSERT_FALSE(read);
  EXPECT_EQ(errc::too_large, read.error().code);
}

} // namespace
} // namespace codeq::protocol
