// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

constexpr auto revoke_it = force_kind::revoke;
constexpr auto complete_it = force_kind::complete;
constexpr auto fail_it = force_kind::fail;

class Force : public shard_fixture {
protected:
  /// One task with these options, leased to `w` as 1/t1.
  void lease_one(const enqueue_options& options = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, options);
  }
};

TEST_F(Force, RevokedTaskIsReadyAgainUncharged) {
  lease_one();

  EXPECT_EQ(force(1, revoke_it), "w: lost 1/t1; p: changed 1 ready; w: work available");

  EXPECT_EQ(entry_of(1).attempt, 0);
  EXPECT_EQ(entry_of(1).last_end, core::lease_end_kind::forced);
}

TEST_F(Force, LateReportOfTheHolderIsStale) {
  lease_one();
  force(1, revoke_it);

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
  EXPECT_EQ(abandon("w", held(1, 1)), "w: answered 1/t1 stale_lease");
  EXPECT_EQ(state().stale_reports, 2);
  EXPECT_EQ(claim("w", 1), "w: got 1/t2");
}

TEST_F(Force, OnlyALeaseIsRevoked) {
  enqueue("q");

  EXPECT_EQ(force(1, revoke_it), "p: unchanged 1 ready");
  EXPECT_TRUE(events().empty());
}

TEST_F(Force, RevokedLeaseOfACancelledTaskEndsIt) {
  lease_one();
  cancel(1);

  EXPECT_EQ(force(1, revoke_it), "w: lost 1/t1; p: changed 1 cancelled");
}

TEST_F(Force, CompletedLeaseTellsWhoAwaitsAndWhoHolds) {
  lease_one();
  await("p", {1});

  EXPECT_EQ(
    force(1, complete_it, "by hand"),
    "w: lost 1/t1; p: 1 is completed 'by hand'; p: changed 1 completed");
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
}

TEST_F(Force, FailedLeaseIsDeadWhateverItsAttempts) {
  lease_one({.settings = {.max_attempts = 5}});
  advance(2s);

  EXPECT_EQ(force(1, fail_it), "w: lost 1/t1; timer t1 dropped; p: changed 1 dead");
  EXPECT_EQ(entry_of(1).attempt, 1);
  EXPECT_EQ(state().queues[0]->totals.dead, 1);
}

TEST_F(Force, LeaseThatWasNotStartedIsNotCharged) {
  lease_one();
  beat("w", held(1, 1), true);

  force(1, fail_it);

  EXPECT_EQ(entry_of(1).attempt, 0);
}

TEST_F(Force, TaskThatIsNotLeasedEndsWithItsText) {
  enqueue("q", 2);
  await("p", {1, 2});

  EXPECT_EQ(force(1, complete_it, "yes"), "p: 1 is completed 'yes'; p: changed 1 completed");
  EXPECT_EQ(force(2, fail_it, "no"), "p: 2 is dead 'no'; p: changed 2 dead");
  EXPECT_EQ(state().queues[0]->ready, 0);
}

TEST_F(Force, TaskOfTheSameTurnEndsBehindItsEnqueue) {
  enqueue("q");

  together([&] {
    force(1, fail_it);
    enqueue("q");
    force(2, complete_it);
  });
  restart();

  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(state_of(2), "completed");
}

TEST_F(Force, TaskWithoutALeaseIsRedrivenToItsOldPlace) {
  enqueue("q", 3);
  force(1, fail_it);
  attach("w", {"q"});
  claim("w", 1);

  EXPECT_EQ(redrive(1), "p: changed 1 ready");

  EXPECT_EQ(claim("w", 2), "w: got 1/t2 3/t3");
}

TEST_F(Force, DeferredTaskIsStillDeferredWhenItIsRedriven) {
  enqueue("q", 1, {.delay = 1min});
  force(1, fail_it);

  EXPECT_EQ(redrive(1), "p: changed 1 scheduled");
}

TEST_F(Force, EndOfTheHeadOpensTheGate) {
  enqueue("q", 2, {.group = "g"});

  force(1, complete_it);

  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Force, GatedTaskLeavesItsGroup) {
  enqueue("q", 3, {.group = "g"});

  force(2, complete_it);
  force(1, complete_it);

  EXPECT_EQ(state_of(3), "ready");
}

TEST_F(Force, WhatIsOverStaysAsItIs) {
  lease_one();
  complete("w", held(1, 1), "mine");

  EXPECT_EQ(force(1, fail_it), "p: unchanged 1 completed");
  EXPECT_EQ(force(1, complete_it, "other"), "p: unchanged 1 completed");
  EXPECT_TRUE(events().empty());
}

} // namespace
} // namespace codeq::test
