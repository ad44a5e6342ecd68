// SPDX-License-Identifier: Apache-2.0
#include "ctl/http_answers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {
namespace {

const task_id id{shard_id{3}, 77};

TEST(CtlHttpAnswers, ATaskHasTheNamesAndUnitsOfANodePort) {
  EXPECT_EQ(
    as_printed(
      R"({"id":"i","command":"q","queue":"q","payload":"{\"aB\":1}","headers":{"aB":"createdAt"},)"
      R"("priority":0,"status":"FAILED","lastKnownLocation":"DLQ_SET","state":"dead",)"
      R"("attempts":1,"maxAttempts":5,"tenantId":"t","createdAt":"1970-01-01T00:00:01.5Z",)"
      R"("idempotencyKey":"k","key":"k","fairnessKey":"f","limits":[{"name":"l","cost":2}],)"
      R"("endedAt":"1970-01-01T00:00:02Z","updatedAt":"x","error":"broken"})",
      answer_form::tasks),
    R"({"id":"i","queue":"q","payload":"{\"aB\":1}","headers":{"aB":"createdAt"},)"
    R"("priority":0,"state":"dead","attempt":1,"max_attempts":5,"tenant":"t",)"
    R"("enqueued_at_ms":1500,"key":"k","fairness_key":"f","limits":[{"name":"l","cost":2}],)"
    R"("ended_at_ms":2000,"error_text":"broken"})");
}

TEST(CtlHttpAnswers, SettingsOfAQueueStandBesideItsState) {
  EXPECT_EQ(
    as_printed(
      R"({"command":"q","queue":"q","paused":true,"pauseReason":"","exists":true,)"
      R"("settings":{"maxAttempts":5,"retry":{"kind":"exponential_jitter","baseMs":1,"capMs":2},)"
      R"("leaseSeconds":10,"retentionSeconds":3600,"deadRetentionSeconds":0,)"
      R"("pauseWhenFailing":{"percent":0,"windowMs":60000},"limits":[]},"uniform":true})",
      answer_form::tasks),
    R"({"queue":"q","paused":true,"pause_reason":"","exists":true,"max_attempts":5,)"
    R"("retry":"exponential-jitter","retry_base_ms":1,"retry_cap_ms":2,"lease_ms":10000,)"
    R"("retention_ms":3600000,"dead_retention_ms":0,)"
    R"("pause_when_failing":{"percent":0,"window_ms":60000},"limits":[],"uniform":true})");
}

TEST(CtlHttpAnswers, CountsOfOneQueueAreAListToo) {
  EXPECT_EQ(
    counts_as_printed(
      R"({"command":"q","queue":"q","exists":true,"ready":1,"delayed":2,"inProgress":3,"dlq":4,)"
      R"("oldestReadyAgeMs":5})"),
    R"({"queues":[{"queue":"q","exists":true,"ready":1,"scheduled":2,"leased":3,"dead":4,)"
    R"("oldest_ready_ms":5}]})");
  EXPECT_EQ(
    counts_as_printed(R"({"queues":[{"queue":"q","maxDepth":1}],"tenantId":"t"})"),
    R"({"queues":[{"tenant":"t","queue":"q","max_depth":1}]})");
  EXPECT_EQ(counts_as_printed(R"({"queue":"q","exists":false,"ready":0})"), R"({"queues":[]})");
}

TEST(CtlHttpAnswers, TheOutcomeOfOneDeadTaskIsNotAList) {
  const std::string one = R"({"id":"i","outcome":"changed","state":"ready"})";

  EXPECT_EQ(outcome_as_printed(R"({"changed":1,"results":[)" + one + "]}"), one);
  EXPECT_EQ(
    outcome_as_printed(R"({"id":"i","outcome":"changed","status":"PENDING","state":"ready"})"),
    one);
}

TEST(CtlHttpAnswers, AHistoryNamesItsTask) {
  EXPECT_EQ(
    events_as_printed(
      R"({"events":[{"at":"1970-01-01T00:00:01Z","event":"leased","workerId":"w",)"
      R"("fencingToken":"9","until":"1970-01-01T00:00:02Z"}],"dropped":0})",
      id),
    R"({"id":")" + to_string(id)
      + R"(","events":[{"at_ms":1000,"event":"leased","worker":"w","token":"9",)"
        R"("until_ms":2000}],"dropped":0})");
}

TEST(CtlHttpAnswers, WorkersHaveQueuesAndLeases) {
  EXPECT_EQ(
    as_printed(
      R"({"workers":[{"workerId":"w","freeSlots":1,"queueCount":1,"queues":["a"],)"
      R"("running":[{"id":"i","queue":"a","tenantId":"t","startedAt":"1970-01-01T00:00:01Z",)"
      R"("leaseLeftMs":5}]}]})",
      answer_form::workers),
    R"({"workers":[{"name":"w","free_slots":1,"queue_count":1,"queues":[{"queue":"a"}],)"
    R"("running":[{"id":"i","queue":"a","tenant":"t","since_ms":1000,"lease_left_ms":5}]}]})");
}

TEST(CtlHttpAnswers, ASchedulesTimesStayAndItsPayloadIsAText) {
  EXPECT_EQ(
    as_printed(
      R"({"name":"s","tenantId":"t","catchUpMs":5,"task":{"command":"q","queue":"q",)"
      R"("payload":{"a":1}},"next":[{"nominalTime":"x","at":"1970-01-01T00:00:01Z"}]})",
      answer_form::schedules),
    R"({"name":"s","tenant":"t","catch_up_ms":5,"queue":"q","payload":"{\"a\":1}",)"
    R"("next":[{"nominal":"x","at":"1970-01-01T00:00:01Z"}]})");
}

TEST(CtlHttpAnswers, SumsSayWhatTheirHeaderSaysToBeMissing) {
  using header = std::vector<std::pair<std::string, std::string>>;
  const header silent{
    {"Date", "7"}, {"Codeq-Missing-Coordinators", "1"}, {"codeq-missing-shards", "4"}};
  const auto list = with_missing(R"({"queues":[{"queue":"q"}],"tenantId":"t"})", silent);

  EXPECT_EQ(
    list,
    R"({"queues":[{"queue":"q"}],"tenantId":"t","missingCoordinators":1,"missingShards":4})");
  EXPECT_EQ(
    counts_as_printed(list),
    R"({"queues":[{"tenant":"t","queue":"q"}],"missing_coordinators":1,"missing_shards":4})");
  EXPECT_EQ(
    counts_as_printed(with_missing(R"({"queue":"q","exists":true})", silent)),
    R"({"queues":[{"queue":"q","exists":true}],"missing_coordinators":1,"missing_shards":4})");
  EXPECT_EQ(
    as_printed(with_missing(R"({"workers":[]})", silent), answer_form::workers),
    R"({"workers":[],"missing_coordinators":1,"missing_shards":4})");
  EXPECT_EQ(with_missing("{}", {silent[2]}), R"({"missingShards":4})");
  EXPECT_EQ(with_missing("down", silent), "down");
  EXPECT_EQ(with_missing("{}", {{"Codeq-Missing-Shards", "x"}}), "{}");
}

TEST(CtlHttpAnswers, WhatIsNoJsonStays) {
  EXPECT_EQ(as_printed("", answer_form::tasks), "");
  EXPECT_EQ(counts_as_printed("down"), "down");
  EXPECT_EQ(as_printed(R"({"at":"soon"})", answer_form::tasks), R"({"at_ms":"soon"})");
}

TEST(CtlHttpAnswers, AnEnqueueTellsIdsAndOutcomes) {
  std::vector<enqueued_task> tasks;
  const auto task = R"({"task":{"id":")" + to_string(id) + R"(","outcome":"existing"}})";

  auto told = take_ids(
    R"({"results":[{"error":"full","code":"queue_full"},)" + task + R"(,{"error":"later"}]})",
    tasks);

  ASSERT_FALSE(told);
  EXPECT_EQ(told.error(), (error{errc::queue_full, "full; 1 of 3 were added"}));
  EXPECT_EQ(tasks, (std::vector{enqueued_task{id, enqueue_kind::existing}}));
}

TEST(CtlHttpAnswers, AnEndHasItsAttemptAndResult) {
  auto end = read_end(
    id, R"({"task":{"state":"completed","attempts":2},"result":{"result":{"ok": true}}})");

  ASSERT_TRUE(end && end->status);
  EXPECT_EQ(end->status->attempt, 2u);
  EXPECT_EQ(end->status->result, R"({"ok": true})");
  EXPECT_FALSE(read_end(id, R"({"task":{"state":"gone"},"result":{}})"));
}

} // namespace
} // namespace codeq::ctl
