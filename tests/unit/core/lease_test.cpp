// SPDX-License-Identifier: Apache-2.0
#include "core/state/apply.hpp"
#include "support/shard_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Lease : public shard_fixture {
protected:
  /// One task with these settings, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }
};

TEST_F(Lease, HeartbeatExtendsIt) {
  lease_one({.lease = 10s});
  advance(9s);

  EXPECT_EQ(beat("w", held(1, 1)), "");

  advance(9s);
  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 19000");
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(Lease, IsExtendedForAsLongAsItsHandlerAsks) {
  lease_one({.lease = 10s});

  beat_for("w", held(1, 1), 60s);
  advance(59s);
  EXPECT_EQ(state_of(1), "leased");
  EXPECT_THAT(expire(held(1, 1)), testing::HasSubstr("timer"));
  advance(1s);
  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Lease, ExtensionDoesNotOutliveTheRunTimeout) {
  lease_one({.lease = 10s, .run_timeout = 20s});

  beat_for("w", held(1, 1), 60s);
  advance(20s);
  expire(held(1, 1));

  EXPECT_NE(state_of(1), "leased");
}

TEST_F(Lease, ThoseOfAQueueThatExpireTogetherAreNotedOnce) {
  attach("w", {"q", "r"});
  claim("w", 9);
  enqueue("q", 2, {.settings = {.lease = 10s}});
  enqueue("r", 1, {.settings = {.lease = 10s}});
  instant late{state().steady + 10s, state().at + 10s};
  core::turn turn(state());
  for (int task = 1; task <= 3; ++task)
    turn.decide(core::expire_lease{held(task, task).seq, held(task, task).token}, late);

  std::vector<std::string> noted;
  for (const auto& effect : turn.seal(late).effects)
    if (const auto* e = std::get_if<core::leases_expired>(&effect))
      noted.push_back(
        e->queue.queue + " " + std::to_string(e->count) + " attempt "
        + std::to_string(e->attempt) + " of " + e->worker);

  EXPECT_THAT(
    noted, testing::UnorderedElementsAre("q 2 attempt 1 of w", "r 1 attempt 1 of w"));
}

TEST_F(Lease, TransitionsOfAQueueAreCounted) {
  attach("w", {"q"});
  claim("w", 9);
  enqueue("q", 4);
  complete("w", held(1, 1));
  fail("w", held(2, 2));
  abandon("w", held(3, 3));
  fail_permanently("w", held(4, 4));
  redrive(4);

  const auto& counted = state().queues.front()->activity;
  EXPECT_EQ(counted.enqueued, 4u);
  EXPECT_EQ(counted.granted, 6u) << "two came back and were granted again";
  EXPECT_EQ(counted.retried, 1u);
  EXPECT_EQ(counted.returned, 1u);
  EXPECT_EQ(counted.redriven, 1u);
}

TEST_F(Lease, HeartbeatExtendsItByWhatItAsksFor) {
  lease_one({.lease = 10s});

  EXPECT_EQ(beat_for("w", held(1, 1), 60s), "");
  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 60000");

  // A shorter extension than the remaining time does not shorten the lease.
  EXPECT_EQ(beat_for("w", held(1, 1), 1s), "");
  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 60000");
}

TEST_F(Lease, HeartbeatExtendsItByNoMoreThanTheRunTimeout) {
  lease_one({.lease = 10s, .run_timeout = 30s});

  EXPECT_EQ(beat_for("w", held(1, 1), 60s), "");

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 30000");
}

TEST_F(Lease, StaleHeartbeatChangesNothing) {
  lease_one({.lease = 10s});
  advance(9s);

  EXPECT_EQ(beat("w", held(1, 7)), "w: lost 1/t7");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 10000");
}

TEST_F(Lease, HeartbeatForAnotherTaskUnderAValidTokenIsStale) {
  lease_one();
  enqueue("q");

  EXPECT_EQ(beat("w", {task(2), held(1, 1).token}), "w: lost 2/t1");
}

TEST_F(Lease, HeartbeatRevivesNothing) {
  lease_one();
  complete("w", held(1, 1));

  EXPECT_EQ(beat("w", held(1, 1)), "w: lost 1/t1");
  EXPECT_EQ(state_of(1), "completed");
}

TEST_F(Lease, HeartbeatWritesNothing) {
  lease_one();

  beat("w", held(1, 1));

  EXPECT_TRUE(events().empty());
}

TEST_F(Lease, StaleHeartbeatsAreCounted) {
  lease_one();

  beat("w", held(1, 7));
  beat("w", held(1, 1));

  EXPECT_EQ(state().stale_beats, 1);
}

TEST_F(Lease, EachBeatOfAMessageIsDecidedOnItsOwn) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 2, {.settings = {.lease = 10s}});
  advance(9s);

  EXPECT_EQ(beat_all("w", {held(1, 9), held(2, 2)}), "w: lost 1/t9");

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 10000");
  EXPECT_EQ(expire(held(2, 2)), "timer 2/t2 at 19000");
}

TEST_F(Lease, ExpiryBeforeTheDeadlineIsOnlyAHint) {
  lease_one({.lease = 10s});
  advance(9999ms);

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 10000");
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(Lease, ExpiryWithAStaleTokenChangesNothing) {
  lease_one({.lease = 1s});
  advance(2s);

  EXPECT_EQ(expire(held(1, 2)), "");
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(Lease, FirstLossIsRetriedAtOnce) {
  lease_one({.lease = 1s});
  advance(1s);

  EXPECT_EQ(expire(held(1, 1)), "w: lost 1/t1; timer t1 dropped; w: work available");
  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).attempt, 1);
}

TEST_F(Lease, SecondLossInARowWaitsByThePolicy) {
  lease_one({.retry = {retry_kind::fixed, 7s, 1min}, .lease = 1s});
  advance(1s);
  expire(held(1, 1));
  claim("w", 1);
  advance(1s);

  expire(held(1, 2));

  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(entry_of(1).retry_at, state().at + 7s);
}

TEST_F(Lease, ReportBetweenTwoLossesEndsTheRow) {
  lease_one({.retry = {retry_kind::fixed, 7s, 1min}, .lease = 1s});
  advance(1s);
  expire(held(1, 1));
  claim("w", 1);
  nack("w", held(1, 2), 0s);
  claim("w", 1);
  advance(1s);

  expire(held(1, 3));

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Lease, TaskThatLosesAllItsWorkersEndsDead) {
  lease_one({.max_attempts = 2, .retry = {retry_kind::fixed, 0s, 0s}, .lease = 1s});
  advance(1s);
  expire(held(1, 1));
  claim("w", 1);
  advance(1s);

  expire(held(1, 2));

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Lease, TaskThatIsLostTooOftenInARowIsQuarantined) {
  configure("q", {.quarantine_after = 2});
  lease_one({.max_attempts = 1000, .retry = {retry_kind::fixed, 0s, 0s}, .lease = 1s});
  advance(1s);
  expire(held(1, 1));
  EXPECT_EQ(state_of(1), "ready");
  claim("w", 1);
  advance(1s);

  expire(held(1, 2));

  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(entry_of(1).attempt, 2);
  EXPECT_EQ(state().queues.front()->activity.quarantined, 1u);
  EXPECT_EQ(
    std::get<core::leases_ended>(events().front()).ends.front().text.view(),
    "quarantined: 2 started attempts in a row were lost; quarantine_after is 2");
}

TEST_F(Lease, OtherEndBetweenTwoLossesPreventsTheQuarantine) {
  configure("q", {.quarantine_after = 2});
  lease_one({.lease = 1s});
  advance(1s);
  expire(held(1, 1));
  claim("w", 1);
  nack("w", held(1, 2), 0s);
  claim("w", 1);
  advance(1s);

  expire(held(1, 3));

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Lease, AttemptThatIsGivenBackDoesNotEndARowOfLosses) {
  configure("q", {.quarantine_after = 2});
  lease_one({.lease = 1s});
  advance(1s);
  expire(held(1, 1));
  claim("w", 1);
  abandon("w", held(1, 2));
  claim("w", 1);
  advance(1s);

  expire(held(1, 3));

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Lease, LossBeforeTheStartDoesNotQuarantine) {
  configure("q", {.quarantine_after = 1});
  lease_one({.lease = 1s});
  beat("w", held(1, 1), true);
  advance(1s);

  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Lease, RedriveOfAQuarantinedTaskBeginsTheRowAnew) {
  configure("q", {.quarantine_after = 2});
  lease_one({.retry = {retry_kind::fixed, 0s, 0s}, .lease = 1s});
  for (int token = 1; token <= 2; ++token) {
    advance(1s);
    expire(held(1, token));
    claim("w", 1);
  }
  ASSERT_EQ(state_of(1), "dead");

  redrive(1);
  advance(1s);
  expire(held(1, 3));

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).lost, 1);
}

TEST_F(Lease, LossesInARowSurviveARestart) {
  configure("q", {.quarantine_after = 2});
  lease_one({.retry = {retry_kind::fixed, 0s, 0s}, .lease = 1s});
  advance(1s);
  expire(held(1, 1));

  restart();
  attach("w", {"q"});
  claim("w", 1);
  auto again = core::task_lease{task(1), entry_of(1).token};
  advance(1s);
  expire(again);

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Lease, CancelledTaskIsNotQuarantined) {
  configure("q", {.quarantine_after = 1});
  lease_one({.lease = 1s});
  cancel(1);
  advance(1s);

  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "cancelled");
  EXPECT_EQ(state().queues.front()->activity.quarantined, 0u);
}

TEST_F(Lease, QuarantinedTaskIsNamedAmongThoseThatExpireTogether) {
  configure("q", {.quarantine_after = 2});
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2, {.settings = {.retry = {retry_kind::fixed, 0s, 0s}, .lease = 1s}});
  advance(1s);
  expire(held(1, 1));
  claim("w", 2);
  instant late{state().steady + 1s, state().at + 1s};
  core::turn turn(state());
  auto first = entry_of(1).token;
  auto second = entry_of(2).token;
  turn.decide(core::expire_lease{task(2), second}, late);
  turn.decide(core::expire_lease{task(1), first}, late);

  std::vector<std::string> noted;
  for (const auto& effect : turn.seal(late).effects)
    if (const auto* e = std::get_if<core::leases_expired>(&effect))
      noted.push_back(
        std::to_string(e->count) + " of them " + std::to_string(e->quarantined) + " quarantined, "
        + std::to_string(e->seq == task(1)) + " attempt " + std::to_string(e->attempt));

  EXPECT_THAT(noted, testing::ElementsAre("2 of them 1 quarantined, 1 attempt 2"));
}

TEST_F(Lease, QueuedLeaseEndsUncharged) {
  lease_one({.lease = 1s});
  beat("w", held(1, 1), true);
  advance(1s);

  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).attempt, 0);
}

TEST_F(Lease, QueuedLeaseWhoseReturnHasToComeAgainEndsUncharged) {
  lease_one({.lease = 1s});
  beat("w", held(1, 1), true);
  core::lease_report returned;
  returned.how = disposition::nack;
  returned.started = false;
  returned.allowed = error{errc::overloaded, "too few replicas"};
  report("w", held(1, 1), returned);
  advance(1s);

  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).attempt, 0);
}

TEST_F(Lease, LeaseThatWasStartedAfterItWasQueuedIsCharged) {
  lease_one({.lease = 1s});
  beat("w", held(1, 1), true);
  beat("w", held(1, 1));
  advance(1s);

  expire(held(1, 1));

  EXPECT_EQ(entry_of(1).attempt, 1);
}

TEST_F(Lease, RunTimeoutEndsAnAttemptHoweverWellItBeats) {
  lease_one({.retry = {retry_kind::fixed, 7s, 1min}, .lease = 10s, .run_timeout = 12s});
  advance(9s);
  beat("w", held(1, 1));
  advance(3s);

  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(entry_of(1).last_end, core::lease_end_kind::timed_out);
  EXPECT_EQ(entry_of(1).retry_at, state().at + 7s);
}

TEST_F(Lease, RunTimeoutShorterThanTheLeaseIsTheDeadline) {
  lease_one({.lease = 10s, .run_timeout = 3s});

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 3000");
}

TEST_F(Lease, YoungLeaseGetsNoTimer) {
  lease_one({.lease = 4s});

  EXPECT_EQ(advance(499ms), "");
  EXPECT_EQ(advance(1ms), "timer 1/t1 at 4000");
}

TEST_F(Lease, RunTimeoutShorterThanTheYouthIsTimedAtOnce) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 1, {.settings = {.lease = 1h}});

  auto effects = enqueue("q", 1, {.settings = {.lease = 1h, .run_timeout = 300ms}});

  EXPECT_THAT(effects, testing::HasSubstr("timer 2/t2 at 300"));
  EXPECT_EQ(advance(1s), "timer 1/t1 at 3600000");
}

TEST_F(Lease, NoLeaseStaysYoungLongerThanASecond) {
  lease_one({.lease = 1h});

  EXPECT_EQ(core::next_wakeup(state(), base::manual_clock(clock()).now()), 1s);
  EXPECT_EQ(advance(1s), "timer 1/t1 at 3600000");
}

TEST_F(Lease, ShortLeaseNeverCostsATimer) {
  lease_one({.lease = 4s});
  advance(100ms);

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
  EXPECT_EQ(advance(10s), "");
}

TEST_F(Lease, TimerOfAnEndedLeaseIsDropped) {
  lease_one({.lease = 4s});
  advance(1s);

  EXPECT_EQ(complete("w", held(1, 1)), "timer t1 dropped; w: answered 1/t1 ok");
}

TEST_F(Lease, RecoveredLeaseKeepsItsTokenAndStartsAfresh) {
  lease_one({.lease = 10s});
  advance(9s);

  restart();

  advance(9s);
  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 19000");
  EXPECT_EQ(complete("w", held(1, 1)), "timer t1 dropped; w: answered 1/t1 ok");
}

TEST_F(Lease, LeaseOfASnapshottedGrantEndsAtItsRunTimeout) {
  lease_one({.lease = 10s, .run_timeout = 3s});
  const auto& granted = std::get<core::batch_granted>(events().back());
  core::shard_state recovered(shard_id{}, 2);
  core::apply(recovered, events().front());
  auto& entry = recovered.segments.at(task(1)).touch(task(1));
  entry.state = task_state::leased;
  entry.token = granted.first_token;

  core::restore_grant(recovered, granted);

  auto* l = recovered.leases.find(granted.first_token);
  ASSERT_TRUE(l);
  EXPECT_EQ(l->deadline, recovered.steady + 3s);
}

} // namespace
} // namespace codeq::test
