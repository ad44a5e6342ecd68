// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Cancel : public shard_fixture {
protected:
  /// One task, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings = {.lease = 1min}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }
};

TEST_F(Cancel, ReadyTaskEndsAtOnceAndIsNeverHandedOut) {
  enqueue("q", 3);

  EXPECT_EQ(cancel(2), "p: changed 2 cancelled");

  attach("w", {"q"});
  EXPECT_EQ(claim("w", 3), "w: parked; w: got 1/t1 3/t2");
}

TEST_F(Cancel, ScheduledTaskEndsAtOnce) {
  enqueue("q", 1, {.delay = 5s});

  EXPECT_EQ(cancel(1), "p: changed 1 cancelled");

  EXPECT_EQ(advance(5s), "");
  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, TaskThatWaitsForARetryEndsAtOnceWithItsLastError) {
  lease_one({.retry = {retry_kind::fixed, 1s, 1s}});
  await("p", {1});
  core::lease_report failed;
  failed.how = disposition::failed;
  failed.text = bytes("broken");
  report("w", held(1, 1), failed);

  EXPECT_EQ(cancel(1), "p: 1 is cancelled; p: changed 1 cancelled");
  EXPECT_EQ(fail("w", held(1, 1)), "w: answered 1/t1 already");
}

TEST_F(Cancel, IsARecordOfItsOwnThatSurvivesARestart) {
  enqueue("q", 2);
  cancel(1);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_TRUE(std::holds_alternative<core::tasks_changed>(events()[0]));

  restart();

  EXPECT_EQ(state_of(1), "cancelled");
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Cancel, ChangesAndEndsOfOneTurnAreReplayedInTheirOrder) {
  lease_one();
  enqueue("q", 1);
  claim("w", 1);

  together([&] {
    complete("w", held(2, 2));
    cancel(1);
    fail("w", held(1, 1));
    cancel(2);
  });

  EXPECT_EQ(state_of(1), "cancelled");
  restart();
  EXPECT_EQ(state_of(1), "cancelled");
  EXPECT_EQ(state_of(2), "completed");
}

TEST_F(Cancel, TaskEnqueuedInTheSameTurnEndsAndTheNextHasASegmentOfItsOwn) {
  together([&] {
    enqueue("q");
    cancel(1);
    enqueue("q");
  });

  EXPECT_EQ(state_of(1), "cancelled");
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Cancel, LeasedTaskIsAskedToStopWithinItsGrace) {
  lease_one();

  EXPECT_EQ(cancel(1), "p: requested 1 leased; w: stop 1/t1 in 10000");
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(Cancel, OfACancelledLeaseAgainWritesAndSaysNothingNew) {
  lease_one();
  cancel(1);

  EXPECT_EQ(cancel(1), "p: requested 1 leased");
  EXPECT_TRUE(events().empty());
}

TEST_F(Cancel, HandlerThatStopsEndsTheTask) {
  lease_one();
  cancel(1);
  core::lease_report stopped;
  stopped.how = disposition::cancelled;

  EXPECT_EQ(report("w", held(1, 1), stopped), "w: answered 1/t1 ok");
  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, HandlerThatCompletesWins) {
  lease_one();
  cancel(1);

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
  EXPECT_EQ(state_of(1), "completed");
}

TEST_F(Cancel, AnyOtherReportIsCancelledAndItsRepeatIsKnown) {
  lease_one();
  cancel(1);
  fail("w", held(1, 1));
  EXPECT_EQ(state_of(1), "cancelled");

  EXPECT_EQ(fail("w", held(1, 1)), "w: answered 1/t1 already");
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
}

TEST_F(Cancel, NackOfACancelledTaskIsNotRetried) {
  lease_one();
  cancel(1);

  nack("w", held(1, 1), 0s);

  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, AbandonOfACancelledTaskGivesNothingBack) {
  lease_one();
  cancel(1);

  abandon("w", held(1, 1));

  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, PermanentFailureOfACancelledTaskIsNotDead) {
  lease_one();
  cancel(1);

  fail_permanently("w", held(1, 1));

  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, GoodbyeOfItsWorkerEndsTheTask) {
  lease_one();
  cancel(1);

  release("w");

  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, CrashOfItsWorkerEndsTheTask) {
  lease_one();
  cancel(1);

  replace("w");

  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, ExpiryOfTheLeaseEndsTheTask) {
  lease_one({.lease = 2s});
  cancel(1);
  advance(2s);

  EXPECT_EQ(expire(held(1, 1)), "w: lost 1/t1; timer t1 dropped");
  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, HeartbeatsDoNotExtendTheGrace) {
  lease_one({.lease = 4s});
  cancel(1);
  for (int i = 0; i < 5; ++i) {
    advance(2s);
    beat("w", held(1, 1));
  }

  EXPECT_EQ(expire(held(1, 1)), "w: lost 1/t1; timer t1 dropped");
  EXPECT_EQ(state_of(1), "cancelled");
  EXPECT_EQ(entry_of(1).last_end, core::lease_end_kind::revoked);
}

TEST_F(Cancel, TimerOfALongLeaseIsSetAnewForTheGrace) {
  lease_one({.lease = 1min});
  advance(2s);

  EXPECT_EQ(cancel(1), "p: requested 1 leased; timer 1/t1 at 12000; w: stop 1/t1 in 10000");
}

TEST_F(Cancel, HeartbeatAfterACancelRevivesNothing) {
  lease_one();
  cancel(1);
  core::lease_report stopped;
  stopped.how = disposition::cancelled;
  report("w", held(1, 1), stopped);

  EXPECT_EQ(beat("w", held(1, 1)), "w: lost 1/t1");
  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, WorkerThatWasAwayIsToldWhenItResumes) {
  lease_one();
  detach("w");
  EXPECT_EQ(cancel(1), "p: requested 1 leased");
  advance(3s);
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {held(1, 1)}), "timer 1/t1 at 13000; w: stop 1/t1 in 10000; w: resumed");
}

TEST_F(Cancel, ReconnectDoesNotStartTheGraceAgain) {
  lease_one();
  cancel(1);
  detach("w");
  advance(4s);
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {held(1, 1)}), "w: stop 1/t1 in 6000; w: resumed");
}

TEST_F(Cancel, WishSurvivesARestartAndTheGraceIsFresh) {
  lease_one();
  cancel(1);
  advance(4s);
  restart();
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {held(1, 1)}), "w: stop 1/t1 in 10000; w: resumed");
  fail("w", held(1, 1));
  EXPECT_EQ(state_of(1), "cancelled");
}

TEST_F(Cancel, TerminalTaskIsUnchanged) {
  lease_one();
  complete("w", held(1, 1));

  EXPECT_EQ(cancel(1), "p: unchanged 1 completed");
  EXPECT_TRUE(events().empty());
}

TEST_F(Cancel, TaskThatIsNotInMemoryIsLeftToTheStore) {
  EXPECT_EQ(cancel(7), "p: 7 is not here");
}

TEST_F(Cancel, SnapshotMergesTheChangesOnce) {
  enqueue("q", 2);
  cancel(1);
  take_snapshot();
  EXPECT_EQ(std::get<core::snapshot_taken>(events().back()).merged_changes.size(), 1u);

  take_snapshot();

  EXPECT_EQ(std::get<core::snapshot_taken>(events().back()).merged_changes.size(), 0u);
}

} // namespace
} // namespace codeq::test
