// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "protocol/convert.hpp"
#include "protocol/task_convert.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace codeq::protocol {

namespace {

using namespace std::chrono_literals;

constexpr timestamp now{duration{1'800'000'000'000}};

capnp::Data::Reader as_data(const std::string& text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

bytes body_of(const std::string& payload, const std::string& header = {}) {
  return frame<schema::TaskBody>::build([&](schema::TaskBody::Builder root) {
           root.setPayload(as_data(payload));
           if (!header.empty())
             root.initHeaders(1)[0].setName(header);
         })
    .body();
}

void put_tasks(schema::EnqueueRequest::Builder to, const std::vector<bytes>& bodies) {
  std::string all;
  auto ends = to.initTasks().initEnds(static_cast<capnp::uint>(bodies.size()));
  for (capnp::uint i = 0; i < bodies.size(); ++i) {
    all += bodies[i].view();
    ends.set(i, static_cast<std::uint32_t>(all.size()));
  }
  to.getTasks().setBytes(as_data(all));
}

using change = std::function<void(schema::EnqueueRequest::Builder, schema::EnqueueRun::Builder)>;

/// A request with one valid task, modified by `change`.
enqueue_request request_with(const change& change) {
  return enqueue_request::build([&](schema::EnqueueRequest::Builder root) {
    root.initProducer().setHigh(1);
    root.setNumber(2);
    root.setAnsweredBelow(1);
    auto run = root.initRuns(1)[0];
    run.setCount(1);
    run.initQueue().setTenant("default");
    run.getQueue().setQueue("q");
    run.initSettings();
    put_tasks(root, {body_of("x")});
    change(root, run);
  });
}

result<core::enqueue> convert(const change& change, shard_place place = {}) {
  return to_command(request_with(change), 7, now, place);
}

struct bad_input {
  const char* name;
  change make_it;
  const char* why;
};

void PrintTo(const bad_input& one, std::ostream* out) {
  *out << one.name;
}

class EnqueueConvertRefuses : public testing::TestWithParam<bad_input> {};

TEST_P(EnqueueConvertRefuses, NamingFieldValueAndLimit) {
  auto command = convert(GetParam().make_it);

  ASSERT_FALSE(command);
  EXPECT_EQ(to_string(command.error()), GetParam().why);
}

const std::string long_name(257, 'k');

// Producers validate settings with the same functions; this table has one row for each setting.
const bad_input cases[] = {
  {"SessionOfAShard",
   [](auto root, auto) { root.getProducer().setHigh(0); },
   "protocol_error: producer ids whose high half is 0 are the shards' own"},
  {"Tenant",
   [](auto, auto run) { run.getQueue().setTenant("a b"); },
   "invalid_argument: tenant is `a b`; it must be 1 to 128 letters, digits, `.`, `_` or `-`"},
  {"Queue",
   [](auto, auto run) { run.getQueue().setQueue(""); },
   "invalid_argument: queue is ``; it must be 1 to 128 letters, digits, `.`, `_` or `-`"},
  {"QueueLength",
   [](auto, auto run) { run.getQueue().setQueue(std::string(129, 'q')); },
   "too_large: queue is 129 bytes; it must be at most 128"},
  {"Priority",
   [](auto, auto run) { run.setPriority(10); },
   "invalid_argument: priority is 10; it must be 0..9"},
  {"MaxAttempts",
   [](auto, auto run) { run.getSettings().setMaxAttempts(1001); },
   "invalid_argument: max_attempts is 1001; it must be 1..1000"},
  {"NoAttempts",
   [](auto, auto run) { run.getSettings().setMaxAttempts(0); },
   "invalid_argument: max_attempts is 0; it must be 1..1000"},
  {"RetryKind",
   [](auto, auto run) { run.getSettings().setRetryKind(static_cast<schema::RetryKind>(4)); },
   "invalid_argument: retry.kind is 4; it must be fixed, linear, exponential or "
   "exponential_jitter"},
  {"RetryBase",
   [](auto, auto run) { run.getSettings().setRetryBaseMs(31'536'000'001); },
   "invalid_argument: retry.base is 31536000001 ms; it must be 0..31536000000 ms"},
  {"RetryCap",
   [](auto, auto run) { run.getSettings().setRetryCapMs(~0ull); },
   "invalid_argument: retry.cap is -1 ms; it must be 0..31536000000 ms"},
  {"ShortLease",
   [](auto, auto run) { run.getSettings().setLeaseMs(999); },
   "invalid_argument: lease is 999 ms; it must be 1000..43200000 ms"},
  {"LongLease",
   [](auto, auto run) { run.getSettings().setLeaseMs(43'200'001); },
   "invalid_argument: lease is 43200001 ms; it must be 1000..43200000 ms"},
  {"RunTimeout",
   [](auto, auto run) { run.getSettings().setRunTimeoutMs(2'592'000'001); },
   "invalid_argument: run_timeout is 2592000001 ms; it must be 0..2592000000 ms"},
  {"ProgressTimeout",
   [](auto, auto run) { run.getSettings().setProgressTimeoutMs(2'592'000'001); },
   "invalid_argument: progress_timeout is 2592000001 ms; it must be 0..2592000000 ms"},
  {"Retention",
   [](auto, auto run) { run.getSettings().setRetentionMs(7'200'000); },
   "invalid_argument: retention is 7200000 ms; it must be 1 h, 1 d, 7 d, 30 d or 1 y"},
  {"NoRetention",
   [](auto, auto run) { run.getSettings().setRetentionMs(0); },
   "invalid_argument: retention is 0 ms; it must be 1 h, 1 d, 7 d, 30 d or 1 y"},
  {"DeadRetention",
   [](auto, auto run) { run.getSettings().setDeadRetentionMs(1); },
   "invalid_argument: dead_retention is 1 ms; it must be 0, 1 h, 1 d, 7 d, 30 d or 1 y"},
  {"OnDead",
   [](auto, auto run) { run.getSettings().setOnDead(static_cast<schema::OnDead>(2)); },
   "invalid_argument: on_dead is 2; it must be skip or block"},
  {"LeftToQueue",
   [](auto, auto run) { run.setLeftToQueue(256); },
   "invalid_argument: left_to_queue is 256; it must be 0..255"},
  {"Delay",
   [](auto, auto run) { run.setDelayMs(315'360'000'001); },
   "invalid_argument: delay is 315360000001 ms; it must be 0..315360000000 ms"},
  {"DelayAndNotBefore",
   [](auto, auto run) {
     run.setDelayMs(1);
     run.setNotBeforeMs(1);
   },
   "invalid_argument: not_before and delay are both set; set one of them"},
  {"NegativeNotBefore",
   [](auto, auto run) { run.setNotBeforeMs(-1); },
   "invalid_argument: not_before is -1 ms; it must be after 1970 and within ten years from now"},
  {"FarNotBefore",
   [](auto, auto run) { run.setNotBeforeMs(1'800'000'000'000 + 315'360'000'001); },
   "invalid_argument: not_before is 2115360000001 ms; it must be after 1970 and within ten years "
   "from now"},
  {"Group",
   [](auto, auto run) { run.setGroup(as_data(long_name)); },
   "too_large: group is 257 bytes; it must be at most 256"},
  {"Key",
   [](auto, auto run) { run.setKey(as_data(long_name)); },
   "too_large: key is 257 bytes; it must be at most 256"},
  {"FairnessKey",
   [](auto, auto run) { run.setFairnessKey(as_data(long_name)); },
   "too_large: fairness_key is 257 bytes; it must be at most 256"},
  {"NoFairnessWeight",
   [](auto, auto run) { run.setFairnessWeight(0); },
   "invalid_argument: fairness_weight is 0; it must be 1..1000"},
  {"FairnessWeight",
   [](auto, auto run) { run.setFairnessWeight(1001); },
   "invalid_argument: fairness_weight is 1001; it must be 1..1000"},
  {"KeyOfTwoTasks",
   [](auto root, auto run) {
     put_tasks(root, {body_of("x"), body_of("y")});
     run.setCount(2);
     run.setKey(as_data("k"));
   },
   "invalid_argument: the number of tasks of a run with a key is 2; it must be 1"},
  {"OnDuplicate",
   [](auto, auto run) {
     run.setKey(as_data("k"));
     run.setOnDuplicate(static_cast<schema::OnDuplicate>(5));
   },
   "invalid_argument: on_duplicate is 5; it must be existing, reject, defer, promote or "
   "replace_ended"},
  {"OnDuplicateWithoutKey",
   [](auto, auto run) { run.setOnDuplicate(schema::OnDuplicate::REJECT); },
   "invalid_argument: on_duplicate is set without a key; set key"},
  {"ReplacePayloadWithoutKey",
   [](auto, auto run) { run.setReplacePayload(true); },
   "invalid_argument: replace_payload is set without a key; set key"},
  {"Payload",
   [](auto root, auto) { put_tasks(root, {body_of(std::string(1'048'577, 'x'))}); },
   "too_large: payload is 1048577 bytes; it must be at most 1048576"},
  {"Headers",
   [](auto root, auto) { put_tasks(root, {body_of("x", std::string(16'385, 'h'))}); },
   "too_large: headers is 16385 bytes; it must be at most 16384"},
  {"HeaderName",
   [](auto root, auto) {
     put_tasks(root, {frame<schema::TaskBody>::build([](auto body) {
                        body.initHeaders(1)[0].setValue("v");
                      }).body()});
   },
   "invalid_argument: a header's name is empty; it must be at least 1 byte"},
  {"NoTasks",
   [](auto root, auto) { root.initTasks(); },
   "invalid_argument: tasks per request is 0; it must be 1..1000"},
  {"TooManyTasks",
   [](auto root, auto run) {
     put_tasks(root, std::vector<bytes>(1001, body_of("x")));
     run.setCount(1001);
   },
   "invalid_argument: tasks per request is 1001; it must be 1..1000"},
  {"RunsThatDoNotFit",
   [](auto, auto run) { run.setCount(2); },
   "protocol_error: the runs do not fit the tasks"},
  {"EmptyRun",
   [](auto, auto run) { run.setCount(0); },
   "protocol_error: the runs do not fit the tasks"},
  {"Ends",
   [](auto root, auto) { root.getTasks().getEnds().set(0, 9999); },
   "protocol_error: the ends of the tasks do not fit their bytes"},
  {"Number",
   [](auto root, auto) { root.setNumber(0); },
   "protocol_error: request numbers start at 1 and answered_below is not above them"},
  {"AnsweredBelow",
   [](auto root, auto) { root.setAnsweredBelow(3); },
   "protocol_error: request numbers start at 1 and answered_below is not above them"},
};

INSTANTIATE_TEST_SUITE_P(
  Inputs, EnqueueConvertRefuses, testing::ValuesIn(cases), [](const auto& one) {
    return std::string(one.param.name);
  });

/// Any shard other than the owner of the name.
shard_place wrong_place(const std::string& name) {
  auto owner = value(core::shard_of_name({"default", "q"}, name, 4));
  return {static_cast<shard_id>((owner + 1) % 4), 4};
}

shard_place right_place(const std::string& name) {
  return {core::shard_of_name({"default", "q"}, name, 4), 4};
}

} // namespace

TEST(EnqueueConvert, AKeyIsRefusedOnAnotherShard) {
  auto with_key = [](auto, auto run) { run.setKey(as_data("k")); };

  EXPECT_TRUE(convert(with_key, right_place("k")));
  auto refused = convert(with_key, wrong_place("k"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_NE(refused.error().context.find("the shard of a key is"), std::string::npos);
}

TEST(EnqueueConvert, TheGroupDecidesOverTheShardWhenThereIsOne) {
  auto with_both = [](auto, auto run) {
    run.setKey(as_data("k"));
    run.setGroup(as_data("g"));
  };

  EXPECT_TRUE(convert(with_both, right_place("g")));
  auto refused = convert(with_both, wrong_place("g"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().context.find("the shard of a group is"), std::string::npos);
}

TEST(EnqueueConvert, WithoutKeyAndGroupAnyShardWillDo) {
  EXPECT_TRUE(convert([](auto, auto) {}, {shard_id{3}, 4}));
}

TEST(EnqueueConvert, WhatATaskSaysReachesTheCommand) {
  std::string group("g\0\xff", 3);
  std::string key(256, 'k');

  auto command = convert([&](auto, auto run) {
    run.setGroup(as_data(group));
    run.setKey(as_data(key));
    run.setOnDuplicate(schema::OnDuplicate::PROMOTE);
    run.setReplacePayload(true);
    run.setDelayMs(5);
    run.setAllowPromotion(true);
    run.getSettings().setRetentionMs(3'600'000);
    run.getSettings().setProgressTimeoutMs(9);
    run.getSettings().setOnDead(schema::OnDead::BLOCK);
    run.setLeftToQueue(static_cast<std::uint16_t>(core::setting_bit::lease));
    run.setFairnessKey(as_data(group));
    run.setFairnessWeight(1000);
  });

  ASSERT_TRUE(command) << to_string(command.error());
  const auto& run = command->runs.front();
  EXPECT_EQ(run.fairness, (core::fairness_mark{group, 1000}));
  EXPECT_EQ(run.group, group);
  EXPECT_EQ(run.key, key);
  EXPECT_EQ(run.duplicate, on_duplicate::promote);
  EXPECT_TRUE(run.replace_payload);
  EXPECT_EQ(run.not_before, now + 5ms);
  EXPECT_TRUE(run.allow_promotion);
  EXPECT_EQ(run.settings.retention, 1h);
  EXPECT_EQ(run.settings.progress_timeout, 9ms);
  EXPECT_EQ(run.settings.when_dead, on_dead::block);
  EXPECT_EQ(run.left_to_queue, static_cast<std::uint16_t>(core::setting_bit::lease));
}

TEST(EnqueueConvert, ValuesOfFieldsLeftToTheQueueMeanNothing) {
  auto command = convert([](auto, auto run) {
    auto settings = run.getSettings();
    settings.setMaxAttempts(60'000);
    settings.setRetryBaseMs(~0ull);
    settings.setLeaseMs(1);
    settings.setRunTimeoutMs(~0ull);
    settings.setProgressTimeoutMs(~0ull);
    settings.setRetentionMs(1);
    settings.setDeadRetentionMs(1);
    settings.setOnDead(static_cast<schema::OnDead>(7));
    run.setLeftToQueue(255);
  });

  ASSERT_TRUE(command) << to_string(command.error());
  EXPECT_EQ(command->runs.front().settings, task_settings{});
}

TEST(EnqueueConvert, WhatAProducerLeavesOutIsTheQueues) {
  task_spec task;
  task.queue = "q";
  task.lease = 5s;
  task.group = "g";
  task.fairness_key = "tenant/customer";
  task.fairness_weight = 3;

  auto request = encoded_tasks::encode({&task, 1})->to_request({{1, 2}, 1, 1, shard_id{}});
  auto command = to_command(request, 7, now, {});

  ASSERT_TRUE(command) << to_string(command.error());
  const auto& run = command->runs.front();
  EXPECT_EQ(run.left_to_queue, 255 - static_cast<std::uint16_t>(core::setting_bit::lease));
  EXPECT_EQ(run.settings.lease, 5s);
  EXPECT_EQ(run.group, "g");
  EXPECT_EQ(run.fairness, (core::fairness_mark{"tenant/customer", 3}));
}

} // namespace codeq::protocol
