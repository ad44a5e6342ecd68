// SPDX-License-Identifier: Apache-2.0
#include "protocol/bounds.hpp"
#include "worker/node/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace codeq::worker {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

report after(outcome answer, stop_cause stop = stop_cause::none) {
  held_lease lease;
  lease.seq = 7;
  lease.stop = stop;
  return make_report({0, shard_id{2}, fencing_token{3}}, lease, std::move(answer));
}

TEST(Report, SaysWhatTheHandlerSaid) {
  EXPECT_EQ(after(outcome::completed("r")).what, disposition::completed);
  EXPECT_EQ(after(outcome::completed("r")).text, "r");
  EXPECT_EQ(after(outcome::failed("f")).what, disposition::failed);
  EXPECT_EQ(after(outcome::failed_permanently("p")).what, disposition::failed_permanently);
  EXPECT_EQ(after(outcome::nack(5ms, "n")).delay, 5ms);
  EXPECT_EQ(after(outcome::nack("n")).delay, std::nullopt);
  EXPECT_EQ(after(outcome::abandon()).what, disposition::abandon);
}

TEST(Report, ResultOverItsLimitIsAPermanentFailureThatNamesBothSizes) {
  auto made = after(outcome::completed(std::string(limits::result_bytes_max + 1, 'x')));

  EXPECT_EQ(made.what, disposition::failed_permanently);
  EXPECT_THAT(made.text, HasSubstr("1048577"));
  EXPECT_THAT(made.text, HasSubstr("1048576"));
}

TEST(Report, ResultAtItsLimitIsTaken) {
  auto made = after(outcome::completed(std::string(limits::result_bytes_max, 'x')));

  EXPECT_EQ(made.what, disposition::completed);
}

TEST(Report, LongReasonIsCutWithAMark) {
  auto made = after(outcome::failed(std::string(limits::error_text_bytes_max + 1, 'x')));

  EXPECT_LE(made.text.size(), limits::error_text_bytes_max);
  EXPECT_THAT(made.text, EndsWith("... [cut from 16385 bytes]"));
}

TEST(Report, ReasonAtItsLimitIsNotCut) {
  std::string reason(limits::error_text_bytes_max, 'x');

  EXPECT_EQ(after(outcome::failed(reason)).text, reason);
}

TEST(Report, NackOutsideItsRangeIsAFailureThatSaysSo) {
  auto made = after(outcome::nack(-1ms, "later"));

  EXPECT_EQ(made.what, disposition::failed);
  EXPECT_EQ(made.delay, std::nullopt);
  EXPECT_THAT(made.text, HasSubstr("-1 ms"));
}

TEST(Report, RefusalNamesItsLimitAndHowLong) {
  auto made = after(outcome::limited(30s, "stripe", "429").cost("stripe", 3).cost("stripe", 4));

  EXPECT_EQ(made.what, disposition::limited);
  EXPECT_EQ(made.delay, 30s);
  EXPECT_EQ(made.limit_name, "stripe");
  EXPECT_EQ(made.text, "429");
  EXPECT_EQ(made.costs, (std::vector<task_limit>{{"stripe", {}, 4}}));
}

TEST(Report, RefusalOutsideItsRangeIsAFailureThatSaysSo) {
  auto made = after(outcome::limited(-1ms));
  EXPECT_EQ(made.what, disposition::failed);
  EXPECT_THAT(made.text, HasSubstr("limited for -1 ms, which is outside 0..2678400000 ms"));

  EXPECT_EQ(after(outcome::limited(limits::limit_closed_max)).what, disposition::limited);
  EXPECT_EQ(after(outcome::limited(limits::limit_closed_max + 1ms)).what, disposition::failed);
}

TEST(Report, CostsOverTheirLimitsAreThrownAtTheHandler) {
  auto ended = outcome::completed();
  for (const auto* limit : {"a", "b", "c", "d"})
    ended.cost(limit, limits::limit_cost_settled_max);

  EXPECT_THROW(ended.cost("a", limits::limit_cost_settled_max + 1), std::invalid_argument);
  EXPECT_THROW(ended.cost("e", 1), std::invalid_argument);
  auto made = after(ended);
  EXPECT_EQ(made.costs.size(), limits::task_limits_max);
  EXPECT_TRUE(protocol::check_costs(made.costs));
}

TEST(Report, ChildsOutcomeKeepsItsCosts) {
  auto kept = within_limits(
    outcome::limited(5s, "stripe", std::string(limits::error_text_bytes_max + 1, 'x'))
      .cost("stripe", 2));

  EXPECT_EQ(kept.what(), disposition::limited);
  EXPECT_EQ(kept.delay(), 5s);
  EXPECT_EQ(kept.limit_name(), "stripe");
  EXPECT_EQ(kept.costs(), (std::vector<task_limit>{{"stripe", {}, 2}}));
  EXPECT_LE(kept.text().size(), limits::error_text_bytes_max);
}

TEST(Report, AfterACancelEverythingButCompletionIsCancelled) {
  EXPECT_EQ(after(outcome::completed(), stop_cause::cancelled).what, disposition::completed);
  EXPECT_EQ(after(outcome::failed("f"), stop_cause::cancelled).what, disposition::cancelled);
  EXPECT_EQ(after(outcome::abandon(), stop_cause::cancelled).what, disposition::cancelled);
  EXPECT_EQ(after(outcome::limited(1s), stop_cause::cancelled).what, disposition::cancelled);
}

TEST(Report, WhatTheNodeStoppedIsNotHeldAgainstTheTask) {
  EXPECT_EQ(after(outcome::completed(), stop_cause::own).what, disposition::completed);
  EXPECT_EQ(after(outcome::failed("f"), stop_cause::own).what, disposition::abandon);
  EXPECT_EQ(after(outcome::nack("n"), stop_cause::own).what, disposition::abandon);
  EXPECT_EQ(
    after(outcome::failed_permanently("p"), stop_cause::own).what, disposition::failed_permanently);
  EXPECT_EQ(after(outcome::limited(1s), stop_cause::own).what, disposition::limited);
}

TEST(Report, UnstartedTaskIsAbandonedUncharged) {
  auto made = make_unstarted({0, shard_id{2}, fencing_token{3}}, 7);

  EXPECT_EQ(made.what, disposition::abandon);
  EXPECT_FALSE(made.started);
}

task_spec follow_up_for(const std::string& queue) {
  task_spec task;
  task.queue = queue;
  return task;
}

TEST(Report, CompletionCarriesItsFollowUps) {
  auto answer = outcome::completed("r").then(follow_up_for("a")).then(follow_up_for("b"));

  auto made = after(answer);

  EXPECT_EQ(made.what, disposition::completed);
  ASSERT_NE(made.follow_ups, nullptr);
  EXPECT_EQ(made.follow_ups->count(), 2u);
}

TEST(Report, FollowUpsMayBeAddedOneByOne) {
  auto answer = outcome::completed();
  for (int i = 0; i < 3; ++i)
    answer.then(follow_up_for("q"));

  EXPECT_EQ(after(std::move(answer)).follow_ups->count(), 3u);
}

TEST(Report, OnlyACompletionHasFollowUps) {
  EXPECT_EQ(after(outcome::failed("f").then(follow_up_for("q"))).follow_ups, nullptr);
  EXPECT_EQ(after(outcome::abandon().then(follow_up_for("not a queue"))).text, "");
}

TEST(Report, FollowUpOverALimitMakesTheAttemptFailAndIsNamed) {
  auto made = after(outcome::completed("r").then(follow_up_for("a")).then(follow_up_for("a b")));

  EXPECT_EQ(made.what, disposition::failed);
  EXPECT_EQ(made.follow_ups, nullptr);
  EXPECT_THAT(made.text, HasSubstr("follow-up 1: queue is `a b`; it must be"));
}

TEST(Report, MoreFollowUpsThanTheLimitMakeTheAttemptFail) {
  auto answer = outcome::completed();
  for (std::size_t i = 0; i < limits::follow_ups_max; ++i)
    answer.then(follow_up_for("q"));
  EXPECT_EQ(after(answer).what, disposition::completed);

  answer.then(follow_up_for("q"));

  EXPECT_EQ(after(answer).what, disposition::failed);
  EXPECT_THAT(
    after(answer).text, HasSubstr("the number of follow-ups is 65; it must be at most 64"));
}

TEST(Report, FollowUpsLargerThanTheLimitMakeTheAttemptFail) {
  auto answer = outcome::completed();
  for (std::size_t bytes = 0; bytes < limits::follow_up_bytes_max;
       bytes += limits::payload_bytes_max) {
    answer.then(follow_up_for("q"));
    answer.then([] {
      auto task = follow_up_for("q");
      task.payload = std::string(limits::payload_bytes_max, 'x');
      return task;
    }());
  }

  EXPECT_EQ(after(answer).what, disposition::failed);
  EXPECT_THAT(after(answer).text, EndsWith("it must be at most 8388608"));
}

} // namespace
} // namespace codeq::worker
