// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
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
    // In a frame, slices are aligned to 8 bytes, as the protocol guarantees.
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

TEST(TaskValidation, KeysGroupsAndRetentionAreChecked) {
  EXPECT_EQ(
    why([](auto& t) { t.group = std::string(257, 'g'); }),
    "group is 257 bytes; it must be at most 256");
  EXPECT_EQ(
    why([](auto& t) { t.key = std::string(257, 'k'); }),
    "key is 257 bytes; it must be at most 256");
  EXPECT_EQ(
    why([](auto& t) {
      t.key = "k";
      t.duplicate = static_cast<on_duplicate>(5);
    }),
    "on_duplicate is 5; it must be existing, reject, defer, promote or replace_ended");
  EXPECT_EQ(
    why([](auto& t) { t.duplicate = on_duplicate::reject; }),
    "on_duplicate is set without a key; set key");
  EXPECT_EQ(
    why([](auto& t) { t.replace_payload = true; }),
    "replace_payload is set without a key; set key");
  EXPECT_EQ(
    why([](auto& t) { t.progress_timeout = -1ms; }),
    "progress_timeout is -1 ms; it must be 0..2592000000 ms");
  EXPECT_EQ(
    why([](auto& t) { t.retry = retry_policy{.cap = -1ms}; }),
    "retry.cap is -1 ms; it must be 0..31536000000 ms");
  EXPECT_EQ(
    why([](auto& t) { t.retention = 2h; }),
    "retention is 7200000 ms; it must be 1 h, 1 d, 7 d, 30 d or 1 y");
  EXPECT_EQ(
    why([](auto& t) { t.dead_retention = 2h; }),
    "dead_retention is 7200000 ms; it must be 0, 1 h, 1 d, 7 d, 30 d or 1 y");
  EXPECT_EQ(
    why([](auto& t) { t.when_dead = static_cast<on_dead>(2); }),
    "on_dead is 2; it must be skip or block");
  EXPECT_EQ(
    why([](auto& t) { t.max_attempts = 65'537; }), "max_attempts is 65537; it must be 1..1000");
  EXPECT_EQ(
    why([](auto& t) { t.not_before = timestamp{}; }), "not_before is 0 ms; it must be after 1970");
  EXPECT_EQ(
    why([](auto& t) { t.headers[""] = "v"; }),
    "a header's name is empty; it must be at least 1 byte");
}

TEST(TaskValidation, FairnessKeyAndWeightAreChecked) {
  EXPECT_EQ(
    why([](auto& t) { t.fairness_key = std::string(257, 'k'); }),
    "fairness_key is 257 bytes; it must be at most 256");
  EXPECT_EQ(
    why([](auto& t) { t.fairness_weight = 0; }), "fairness_weight is 0; it must be 1..1000");
  EXPECT_EQ(
    why([](auto& t) { t.fairness_weight = 1001; }), "fairness_weight is 1001; it must be 1..1000");
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
  task.progress_timeout = limits::run_timeout_max;
  task.group = std::string(256, 'g');
  task.key = std::string(256, 'k');
  task.duplicate = on_duplicate::promote;
  task.replace_payload = true;
  task.when_dead = on_dead::block;
  task.fairness_key = std::string(256, 'f');
  task.fairness_weight = 1000;

  for (auto retention : limits::retention_classes) {
    task.retention = task.dead_retention = retention;
    EXPECT_TRUE(validate(task));
  }
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

TEST(EncodedTasks, TasksWithAKeyHaveRunsOfTheirOwn) {
  auto keyed = spec("b");
  keyed.key = "k";
  keyed.duplicate = on_duplicate::defer;
  keyed.replace_payload = true;
  auto grouped = spec("c");
  grouped.group = "g";
  grouped.when_dead = on_dead::block;

  read(request_of({spec("a"), keyed, keyed, grouped, grouped}), [](auto reader) {
    std::vector<std::string> runs;
    for (auto run : reader.getRuns())
      runs.push_back(
        std::to_string(run.getCount())
        + std::string(run.getGroup().asChars().begin(), run.getGroup().size())
        + std::string(run.getKey().asChars().begin(), run.getKey().size())
        + std::to_string(static_cast<int>(run.getOnDuplicate()))
        + (run.getReplacePayload() ? "r" : ""));
    EXPECT_EQ(runs, (std::vector<std::string>{"10", "1k2r", "1k2r", "2g0"}));
    EXPECT_EQ(reader.getRuns()[3].getSettings().getOnDead(), schema::OnDead::BLOCK);
  });
}

TEST(EncodedTasks, ARequestMayHaveSomeOfTheRuns) {
  std::vector<task_spec> tasks{spec("a", "q"), spec("bb", "r"), spec("ccc", "q"), spec("d", "q")};
  auto encoded = encoded_tasks::encode(tasks);

  auto request = encoded->to_request({}, {0, 2});

  EXPECT_EQ(encoded->tasks_of({0, 2}), (std::vector<std::uint32_t>{0, 2, 3}));
  read(request, [](auto reader) {
    EXPECT_EQ(bodies(reader), (std::vector<std::string>{"a", "ccc", "d"}));
    EXPECT_EQ(reader.getRuns().size(), 2u);
    EXPECT_EQ(reader.getRuns()[1].getCount(), 2u);
  });
}

TEST(EncodedTasks, AreSplitByTheShardsThatOwnTheirNames) {
  constexpr std::uint16_t shards = 8;
  std::vector<task_spec> tasks(40, spec());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    (i % 2 == 0 ? tasks[i].key : tasks[i].group) = "name" + std::to_string(i);
  auto encoded = encoded_tasks::encode(tasks);

  auto parts = encoded->split(encoded->all_runs(), shards, shard_id{});

  EXPECT_TRUE(encoded->is_addressed());
  std::size_t count = 0;
  for (const auto& part : parts) {
    for (auto place : encoded->tasks_of(part.runs)) {
      auto name = "name" + std::to_string(place);
      EXPECT_EQ(part.shard, core::shard_of_name({"default", "q"}, name, shards));
      ++count;
    }
    // A part is not split any further.
    EXPECT_EQ(encoded->split(part.runs, shards, shard_id{}).size(), 1u);
  }
  EXPECT_EQ(count, tasks.size());
}

TEST(EncodedTasks, KeysOfLimitsAreAddresses) {
  auto first = spec();
  first.limits = {{"stripe", "a"}};
  auto second = spec();
  second.limits = {{"stripe", "d"}};
  auto encoded = encoded_tasks::encode(std::vector{first, second});

  EXPECT_TRUE(encoded->is_addressed());
  EXPECT_EQ(encoded->split(encoded->all_runs(), 1021, shard_id{}).size(), 2u);
}

TEST(EncodedTasks, TasksWithoutANameGoWithTheFirstThatHasOne) {
  auto keyed = spec("k");
  keyed.key = "k";
  auto encoded = encoded_tasks::encode(std::vector{spec("a"), keyed, spec("b")});

  auto parts = encoded->split(encoded->all_runs(), 8, shard_id{});

  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].shard, core::shard_of_name({"default", "q"}, "k", 8));
}

TEST(EncodedTasks, WithoutNamesThereIsOnePartAnywhere) {
  auto encoded = encoded_tasks::encode(std::vector{spec("a"), spec("b", "r")});

  auto parts = encoded->split(encoded->all_runs(), 8, shard_id{5});

  EXPECT_FALSE(encoded->is_addressed());
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].shard, shard_id{5});
  EXPECT_EQ(parts[0].runs, encoded->all_runs());
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

TEST(EncodedTasks, TaskThatNamesNoTenantBelongsToTheGivenOne) {
  auto named = spec("", "q");
  named.tenant = "own";
  auto tenants = [&](const result<encoded_tasks>& encoded) {
    std::string text;
    read(encoded->to_request({{1, 2}, 3, 2, shard_id{4}}), [&](auto reader) {
      for (auto run : reader.getRuns())
        text += std::string(run.getQueue().getTenant().cStr()) + " "
                + std::to_string(run.getCount()) + ", ";
    });
    return text;
  };
  const std::vector<task_spec> tasks{spec("a"), spec("b"), named};

  EXPECT_EQ(tenants(encoded_tasks::encode(tasks)), "default 2, own 1, ");
  EXPECT_EQ(tenants(encoded_tasks::encode(tasks, {}, "shop")), "shop 2, own 1, ");
  EXPECT_EQ(tenants(encoded_tasks::encode(tasks, {}, "own")), "own 3, ");
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
  for (int i = 0; i < 100; ++i) {
    tasks.push_back(spec(std::string(static_cast<std::size_t>(i), 'x'), "q" + std::to_string(i)));
    tasks.back().key = std::string(static_cast<std::size_t>(i), 'k');
    tasks.back().group = std::string(static_cast<std::size_t>(100 - i), 'g');
  }

  auto encoded = encoded_tasks::encode(tasks);

  ASSERT_TRUE(encoded);
  EXPECT_LE(encoded->to_request({}).body().size(), encoded->request_bytes());
}

} // namespace codeq::protocol
