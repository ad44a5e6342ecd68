// SPDX-License-Identifier: Apache-2.0
#include "core/state/parked_enqueues.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mebibyte = 1024 * 1024;

parked_enqueues::parked
request(std::uint64_t number, std::uint32_t bytes = 8, const std::string& tenant = "t") {
  enqueue_run run;
  run.queue = {tenant, "q"};
  run.tasks = test::encode_bodies(1, bytes);
  return {{1, {{1, 1}, number, 0}, {run}}, monotonic_time{500ms}};
}

TEST(ParkedEnqueues, WaitInTheirOrderForEachQueue) {
  parked_enqueues parked;

  EXPECT_TRUE(parked.park(7, request(1)));
  EXPECT_TRUE(parked.park(7, request(2)));
  EXPECT_TRUE(parked.park(8, request(3)));

  EXPECT_EQ(parked.queues(), (std::vector<std::uint32_t>{7, 8}));
  EXPECT_EQ(parked.take_first(7).request.request.number, 1u);
  EXPECT_EQ(parked.first(7)->request.request.number, 2u);
  EXPECT_EQ(parked.take_first(7).request.request.number, 2u);
  EXPECT_FALSE(parked.is_waiting(7));
  EXPECT_EQ(parked.take_first(8).request.request.number, 3u);
  EXPECT_TRUE(parked.empty());
  EXPECT_EQ(parked.bytes(), 0u);
}

TEST(ParkedEnqueues, RepeatTakesThePlaceOfTheFirst) {
  parked_enqueues parked;
  EXPECT_TRUE(parked.park(7, request(1)));
  const auto name = request(1).request.request;

  ASSERT_TRUE(parked.contains(name));
  EXPECT_FALSE(parked.contains(request(2).request.request));
  parked.answer_to(name, 9);

  EXPECT_EQ(parked.take_first(7).request.peer, 9u);
  EXPECT_FALSE(parked.contains(name)) << "it waits no more";
}

TEST(ParkedEnqueues, QueueHasABoundThatOneLargeRequestMayExceed) {
  parked_enqueues parked;

  EXPECT_TRUE(parked.park(7, request(1, 2 * mebibyte)));
  EXPECT_FALSE(parked.park(7, request(2)));
  std::uint64_t number = 2;
  while (parked.park(8, request(++number)))
    continue;

  EXPECT_GT(number, 200u);
  EXPECT_LT(number, 260u);
}

TEST(ParkedEnqueues, LoneRequestMayBeLargerThanTheShareOfATenant) {
  parked_enqueues parked;

  EXPECT_TRUE(parked.park(7, request(1, 12 * mebibyte)));
  EXPECT_FALSE(parked.park(8, request(2, mebibyte)));
}

TEST(ParkedEnqueues, RunsCountWithTheirNames) {
  parked_enqueues parked;
  auto many = request(1, 0);
  many.request.runs[0].group = std::string(250, 'g');
  many.request.runs.resize(1000, many.request.runs[0]);

  EXPECT_TRUE(parked.park(7, many));

  EXPECT_GT(parked.bytes(), 1000 * (sizeof(enqueue_run) + 250));
}

TEST(ParkedEnqueues, NextTurnLooksAtThoseThatWerePutOff) {
  parked_enqueues parked;
  EXPECT_TRUE(parked.park(7, request(1)));
  parked.put_off();
  EXPECT_EQ(parked.next_look(), monotonic_time{});

  parked.begin_look();

  EXPECT_EQ(parked.next_look(), monotonic_time{500ms});
}

TEST(ParkedEnqueues, TenantLeavesOthersTheirPart) {
  parked_enqueues parked;
  std::uint32_t queue = 1;
  while (parked.park(queue, request(queue, mebibyte)))
    ++queue;
  const auto one = mebibyte + parked_enqueues::request_bytes;
  EXPECT_LT(parked.bytes(), parked_enqueues::shard_bytes_max / 2 + one);

  EXPECT_TRUE(parked.park(1000, request(1000, mebibyte, "other")));
}

TEST(ParkedEnqueues, ThoseThatWaitForTooLongAreTaken) {
  parked_enqueues parked;
  auto late = request(2);
  late.until = monotonic_time{300ms};
  EXPECT_TRUE(parked.park(7, request(1)));
  EXPECT_TRUE(parked.park(7, late));
  EXPECT_EQ(parked.next_end(), monotonic_time{300ms});

  auto taken =
    parked.take_if(7, [](const auto& one) { return one.until <= monotonic_time{400ms}; });

  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].request.request.number, 2u);
  EXPECT_EQ(parked.next_end(), monotonic_time{500ms});
}

TEST(ParkedEnqueues, OnlyThoseWithKeysDependOnTheStore) {
  parked_enqueues parked;
  auto keyed = request(2);
  keyed.request.runs[0].key = "k";
  EXPECT_TRUE(parked.park(7, request(1)));
  EXPECT_TRUE(parked.park(7, keyed));

  parked.note_closed_keys();

  EXPECT_FALSE(parked.take_first(7).is_stale);
  EXPECT_TRUE(parked.take_first(7).is_stale);
}

} // namespace
} // namespace codeq::core
