// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Report : public shard_fixture {
protected:
  /// One task with these settings, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }
};

TEST_F(Report, CompletionEndsTheTask) {
  lease_one();

  EXPECT_EQ(complete("w", held(1, 1), "done"), "w: answered 1/t1 ok");

  EXPECT_EQ(state_of(1), "completed");
  const auto& ended = std::get<core::leases_ended>(events().at(0));
  EXPECT_EQ(ended.ends.at(0).text.view(), "done");
}

TEST_F(Report, RepeatWithTheSameTokenIsAlready) {
  lease_one();
  complete("w", held(1, 1), "done");

  EXPECT_EQ(complete("w", held(1, 1), "again"), "w: answered 1/t1 already");
  EXPECT_TRUE(events().empty());
}

TEST_F(Report, StaleTokenIsRefused) {
  lease_one();

  EXPECT_EQ(complete("w", held(1, 9)), "w: answered 1/t9 stale_lease");
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(Report, TokenOfAnotherTaskIsRefused) {
  lease_one();
  enqueue("q");

  EXPECT_EQ(complete("w", {task(2), held(1, 1).token}), "w: answered 2/t1 stale_lease");
  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Report, EmptyTokenNeverSkipsTheCheck) {
  lease_one();

  complete("w", {task(1), fencing_token{}});

  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(Report, TaskThatWasNeverGivenIsUnknown) {
  EXPECT_EQ(complete("w", held(5, 1)), "w: answered 5/t1 unknown_task");
}

TEST_F(Report, ResultAfterTheDeadlineButBeforeTheExpiryIsAccepted) {
  lease_one({.lease = 1s});
  advance(5s);

  EXPECT_EQ(complete("w", held(1, 1)), "timer t1 dropped; w: answered 1/t1 ok");
  EXPECT_EQ(expire(held(1, 1)), "");
  EXPECT_EQ(state_of(1), "completed");
}

TEST_F(Report, ZombieOfATaskThatAnotherWorkerClaimedIsRefused) {
  lease_one({.lease = 1s});
  advance(1s);
  expire(held(1, 1));
  attach("b", {"q"});
  claim("b", 1);

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
  EXPECT_EQ(complete("b", held(1, 2)), "b: answered 1/t2 ok");
}

TEST_F(Report, SelfZombieIsRefused) {
  lease_one({.lease = 1s});
  advance(1s);
  expire(held(1, 1));
  claim("w", 1);

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
  EXPECT_EQ(complete("w", held(1, 2)), "w: answered 1/t2 ok");
}

TEST_F(Report, ResultOfALostLeaseIsRefusedThoughNobodyHasTheTask) {
  lease_one({.lease = 1s});
  advance(1s);
  expire(held(1, 1));

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Report, FailureIsRetriedByThePolicyAndNotByTheLease) {
  lease_one({.retry = {retry_kind::fixed, 1s, 1min}, .lease = 60s});
  claim("w", 1);

  EXPECT_EQ(fail("w", held(1, 1)), "w: answered 1/t1 ok");

  EXPECT_EQ(advance(999ms), "");
  EXPECT_EQ(advance(1ms), "w: got 1/t2@2");
}

TEST_F(Report, RetryKeepsItsOldPlaceOnceEligible) {
  lease_one({.retry = {retry_kind::fixed, 1s, 1min}});
  enqueue("q", 2);
  fail("w", held(1, 1));

  advance(1s);

  EXPECT_EQ(claim("w", 3), "w: got 1/t2@2 2/t3 3/t4");
}

TEST_F(Report, FailedPermanentlyIsDead) {
  lease_one({.max_attempts = 5});

  fail_permanently("w", held(1, 1));

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Report, AttemptsUsedUpIsDead) {
  lease_one({.max_attempts = 2, .retry = {retry_kind::fixed, 0s, 0s}});
  fail("w", held(1, 1));
  EXPECT_EQ(state_of(1), "ready");
  claim("w", 1);

  fail("w", held(1, 2));

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Report, NackHasItsOwnDelay) {
  lease_one({.retry = {retry_kind::fixed, 1h, 1h}});

  nack("w", held(1, 1), 3s);

  EXPECT_EQ(entry_of(1).retry_at, state().at + 3s);
  EXPECT_EQ(entry_of(1).attempt, 1);
}

TEST_F(Report, NackWithoutDelayIsReadyAtOnce) {
  lease_one({.retry = {retry_kind::fixed, 1h, 1h}});

  nack("w", held(1, 1), 0s);

  EXPECT_EQ(claim("w", 1), "w: got 1/t2@2");
}

TEST_F(Report, NackUsesAttemptsUpToo) {
  lease_one({.max_attempts = 1});

  nack("w", held(1, 1), 0s);

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Report, AbandonGivesTheAttemptBackAndKeepsTheOldPlace) {
  lease_one();
  enqueue("q");

  abandon("w", held(1, 1));

  EXPECT_EQ(entry_of(1).attempt, 0);
  EXPECT_EQ(claim("w", 2), "w: got 1/t2 2/t3");
}

TEST_F(Report, TheTwentyFirstRefundInARowIsCharged) {
  lease_one();
  for (int i = 1; i <= 20; ++i) {
    abandon("w", held(1, i));
    EXPECT_EQ(entry_of(1).attempt, 0) << i;
    claim("w", 1);
  }

  abandon("w", held(1, 21));

  EXPECT_EQ(entry_of(1).attempt, 1);
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Report, ChargedAbandonOfTheLastAttemptIsDead) {
  lease_one({.max_attempts = 1});
  for (int i = 1; i <= 20; ++i) {
    abandon("w", held(1, i));
    claim("w", 1);
  }

  abandon("w", held(1, 21));

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Report, FailureThatNeverStartedIsUncharged) {
  lease_one();
  core::lease_report r;
  r.how = disposition::failed;
  r.started = false;

  report("w", held(1, 1), r);

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).attempt, 0);
}

TEST_F(Report, TaskThatWasReportedAsQueuedButFailsWasStarted) {
  lease_one();
  beat("w", held(1, 1), true);

  fail("w", held(1, 1));

  EXPECT_EQ(entry_of(1).attempt, 1);
}

TEST_F(Report, EachOfAMessageIsDecidedOnItsOwn) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 3);
  complete("w", held(2, 2));

  EXPECT_EQ(
    complete_all("w", {held(1, 9), held(2, 2), held(7, 7), held(3, 3)}),
    "w: answered 1/t9 stale_lease 2/t2 already 7/t7 unknown_task 3/t3 ok");

  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(3), "completed");
}

TEST_F(Report, RepeatLongAfterTheSegmentClosedIsLeftToTheStore) {
  lease_one();
  complete("w", held(1, 1));
  take_snapshot();

  EXPECT_EQ(complete("w", held(1, 1)), "w: 1 is not here");
}

} // namespace
} // namespace codeq::test
