// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "protocol/task_convert.hpp"
#include "protocol/task_validation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace codeq::protocol {

using namespace std::chrono_literals;

namespace {

task_spec spec(const std::string& payload = "", const std::string& queue = "q") {
  task_spec task;
  task.queue = queue;
  task.payload = payload;
  return task;
}

std::string why(const std::function<void(task_spec&)>& change) {
  auto task = spec();
  change(task);
  auto ok = validate(task);
  return ok ? "fine" : ok.error().context;
}

enqueue_request request_of(const std::vector<task_spec>& tasks) {
  auto encoded = encoded_tasks::encode(tasks);
  EXPECT_TRUE(encoded) << to_string(encoded.error());
  return encoded->to_request({{1, 2}, 3, 2, shard_id{4}});
}

/// Payload and headers of each body, read from its own slice of the packed bytes.
std::vector<std::string> bodies(schema::EnqueueRequest::Reader request) {
  std::vector<std::string> texts;
  auto packed = request.getTasks();
  std::uint32_t begin = 0;
  for (auto end : packed.getEnds()) {
    // A frame's slice lies at a multiple of 8 bytes, as the wire promises.
    bytes slice(nullptr, {packed.getBytes().asChars().begin() + begin, end - begin});
    begin = end;
    auto body = frame<schema::TaskBody>::parse(slice);
    EXPECT_TRUE(body);
    auto text = body->read([](auto reader) -> result<std::string> {
      std::string all(reader.getPayload().asChars().begin(), reader.getPayload().size());
      for (auto header : reader.getHeaders())
        all += std::string(" ") + header.getName().cStr() + "=" + header.getValue().cStr();
      return all;
    });
    EXPECT_TRUE(text);
    texts.push_back(*text);
  }
  return texts;
}

template <class F>
void read(const enqueue_request& request, F&& look) {
  auto done = request.read([&](auto reader) -> result<void> {
    look(reader);
    return {};
  });
  EXPECT_TRUE(done) << to_string(done.error());
}

} // namespace

TEST(TaskValidation, EveryRefusalNamesFieldValueAndLimit) {
  EXPECT_EQ(why([](auto&) {}), "fine");
  EXPECT_EQ(why([](auto& t) { t.priority = 12; }), "priority is 12; it must be 0..9");
  EXPECT_EQ(why([](auto& t) { t.priority = -1; }), "priority is -1; it must be 0..9");
  EXPECT_EQ(why([](auto& t) { t.max_attempts = 0; }), "max_attempts is 0; it must be 1..1000");
  EXPECT_EQ(
    why([](auto& t) { t.max_attempts = 1001; }), "max_attempts is 1001; it must be 1..1000");
  EXPECT_EQ(why([](auto& t) { t.lease = 999ms; }), "lease is 999 ms; it must be 1000..43200000 ms");
  EXPECT_EQ(why([](auto& t) { t.delay = -1ms; }), "delay is -1 ms; it must be 0..315360000000 ms");
  EXPECT_EQ(
    why([](auto& t) { t.run_timeout = 31 * 24h; }),
    "run_timeout is 2678400000 ms; it must be 0..2592000000 ms");
  EXPECT_EQ(
    why([](auto& t) { t.retry = retry_policy{.base = 366 * 24h}; }),
    "retry.base is 31622400000 ms; it must be 0..31536000000 ms");
  EXPECT_EQ(
    why([](auto& t) { t.retry = retry_policy{static_cast<retry_kind>(9)}; }),
    "retry.kind is 9; it must be fixed, linear, exponential or exponential_jitter");
  EXPECT_EQ(
    why([](auto& t) { t.queue = "a b"; }),
    "queue is `a b`; it must be 1 to 128 letters, digits, `.`, `_` or `-`");
  EXPECT_EQ(
    why([](auto& t) { t.tenant = std::string(129, 'a'); }),
    "tenant is 129 bytes; it must be at most 128");
  EXPECT_EQ(
    why([](auto& t) { t.payload = std::string(limits::payload_bytes_max + 1, 'x'); }),
    "payload is 1048577 bytes; it must be at most 1048576");
  EXPECT_EQ(
    why([](auto& t) { t.headers["n"] = std::string(limits::headers_bytes_max, 'x'); }),
    "headers is 16385 bytes; it must be at most 16384");
  EXPECT_EQ(
    why([](auto& t) {
      t.delay = 1s;
      t.not_before = timestamp{duration{1}};
    }),
    "not_before and delay are both set; set one of them");
}

TEST(TaskValidation, EveryFieldMayReachItsLimit) {
  auto task = spec(std::string(limits::payload_bytes_max, 'x'), std::string(128, 'q'));
  task.priority = 9;
  task.max_attempts = 1000;
  task.lease = 12h;
  task.retry = retry_policy{retry_kind::fixed, limits::retry_max, limits::retry_max};
  task.run_timeout = limits::run_timeout_max;
  task.delay = limits::not_before_ahead_max;
  task.headers["n"] = std::string(limits::headers_bytes_max - 1, 'x');

  EXPECT_TRUE(validate(task));
}

TEST(EncodedTasks, EachBodyIsAMessageOfItsOwn) {
  auto third = spec("payload of 19 bytes");
  third.headers = {{"a", "1"}, {"traceparent", "00-abcdef"}};

  read(request_of({spec(), spec(std::string("\0\xff", 2)), third}), [](auto reader) {
    EXPECT_EQ(
      bodies(reader),
      (std::vector<std::string>{
        "", std::string("\0\xff", 2), "payload of 19 bytes a=1 traceparent=00-abcdef"}));
  });
}

TEST(EncodedTasks, TheRequestSaysWhoAndWhere) {
  read(request_of({spec("x")}), [](auto reader) {
    EXPECT_EQ(reader.getProducer().getHigh(), 1u);
    EXPECT_EQ(reader.getProducer().getLow(), 2u);
    EXPECT_EQ(reader.getNumber(), 3u);
    EXPECT_EQ(reader.getAnsweredBelow(), 2u);
    EXPECT_EQ(reader.getShard(), 4u);
  });
}

TEST(EncodedTasks, NeighboursWithTheSameSettingsShareARun) {
  auto other = spec("c", "r");
  auto later = spec("e");
  later.delay = 5s;

  read(request_of({spec("a"), spec("b"), other, spec("d"), later}), [](auto reader) {
    std::vector<std::string> runs;
    for (auto run : reader.getRuns())
      runs.push_back(
        std::to_string(run.getCount()) + run.getQueue().getQueue().cStr()
        + std::to_string(run.getDelayMs()));
    EXPECT_EQ(runs, (std::vector<std::string>{"2q0", "1r0", "1q0", "1q5000"}));
    EXPECT_EQ(reader.getTasks().getEnds().size(), 5u);
  });
}

TEST(EncodedTasks, SettingsTravelAsTheyWereGiven) {
  auto task = spec();
  task.tenant = "t";
  task.priority = 7;
  task.max_attempts = 9;
  task.retry = retry_policy{retry_kind::linear, 3s, 4s};
  task.lease = 5s;
  task.run_timeout = 6s;
  task.not_before = timestamp{duration{1'800'000'000'000}};

  read(request_of({task}), [](auto reader) {
    auto run = reader.getRuns()[0];
    auto settings = run.getSettings();
    EXPECT_STREQ(run.getQueue().getTenant().cStr(), "t");
    EXPECT_EQ(run.getPriority(), 7u);
    EXPECT_EQ(run.getNotBeforeMs(), 1'800'000'000'000);
    EXPECT_EQ(settings.getMaxAttempts(), 9u);
    EXPECT_EQ(settings.getRetryKind(), schema::RetryKind::LINEAR);
    EXPECT_EQ(settings.getRetryBaseMs(), 3000u);
    EXPECT_EQ(settings.getRetryCapMs(), 4000u);
    EXPECT_EQ(settings.getLeaseMs(), 5000u);
    EXPECT_EQ(settings.getRunTimeoutMs(), 6000u);
    EXPECT_EQ(settings.getRetentionMs(), 86'400'000u);
  });
}

TEST(EncodedTasks, ARefusalNamesThePlaceOfTheTask) {
  auto bad = spec();
  bad.priority = 10;

  auto encoded = encoded_tasks::encode(std::vector{spec(), bad});

  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().context, "task 1: priority is 10; it must be 0..9");
}

TEST(EncodedTasks, MoreThanAFrameHoldsIsRefusedNamingTheLimit) {
  std::vector<task_spec> tasks(16, spec(std::string(limits::payload_bytes_max, 'x')));

  auto encoded = encoded_tasks::encode(tasks);

  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, errc::too_large);
  EXPECT_NE(encoded.error().context.find("at most 16777216"), std::string::npos);
}

TEST(EncodedTasks, TheEstimateIsNoSmallerThanTheRequest) {
  std::vector<task_spec> tasks;
  for (int i = 0; i < 100; ++i)
    tasks.push_back(spec(std::string(static_cast<std::size_t>(i), 'x'), "q" + std::to_string(i)));

  auto encoded = encoded_tasks::encode(tasks);

  ASSERT_TRUE(encoded);
  EXPECT_LE(encoded->to_request({}).body().size(), encoded->request_bytes());
}

} // namespace codeq::protocol
