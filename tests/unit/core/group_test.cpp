// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Group : public shard_fixture {
protected:
  /// Three tasks of one group, the first leased to `w` as 1/t1; `w` waits for more.
  void lease_first_of_three(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 5);
    enqueue("q", 3, {.settings = settings, .group = "g"});
  }
};

TEST_F(Group, HasOneLeasedTaskAtATime) {
  lease_first_of_three();

  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(2), "gated");
  EXPECT_EQ(state_of(3), "gated");
}

TEST_F(Group, NextTaskIsHandedOutInTheTurnInWhichTheHeadEnds) {
  lease_first_of_three();

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok; w: got 2/t2");
  EXPECT_EQ(complete("w", held(2, 2)), "w: answered 2/t2 ok; w: got 3/t3");
}

TEST_F(Group, OrderIsThatOfArrivalAndPrioritiesAreIgnoredInside) {
  enqueue("q", 1, {.priority = 0, .group = "g"});
  enqueue("q", 1, {.priority = 9, .group = "g"});
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 2), "w: parked; w: got 1/t1");
}

TEST_F(Group, OthersAreNotHeldUp) {
  enqueue("q", 2, {.group = "g"});
  enqueue("q", 1, {.group = "h"});
  enqueue("q", 1);
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 4), "w: parked; w: got 1/t1 3/t2 4/t3");
}

TEST_F(Group, IsOneOfItsQueueOnly) {
  enqueue("q", 1, {.group = "g"});
  enqueue("r", 1, {.group = "g"});

  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Group, WaitsWhileItsHeadWaitsForARetry) {
  lease_first_of_three({.retry = {retry_kind::fixed, 5s, 5s}});

  fail("w", held(1, 1));

  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(state_of(2), "gated");
  EXPECT_EQ(advance(5s), "w: got 1/t2@2");
}

TEST_F(Group, WaitsWhileItsHeadIsDeferred) {
  enqueue("q", 1, {.delay = 5s, .group = "g"});
  enqueue("q", 1, {.group = "g"});

  EXPECT_EQ(state_of(2), "gated");
  advance(5s);
  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(state_of(2), "gated");
}

TEST_F(Group, DeferralOfAGatedTaskStillCountsWhenTheGateOpens) {
  enqueue("q", 1, {.group = "g"});
  enqueue("q", 1, {.delay = 5s, .group = "g"});
  attach("w", {"q"});
  claim("w", 2);

  complete("w", held(1, 1));

  EXPECT_EQ(state_of(2), "scheduled");
  EXPECT_EQ(advance(5s), "w: got 2/t2");
}

TEST_F(Group, GatedTaskWhoseTimeComesStaysGated) {
  enqueue("q", 1, {.group = "g"});
  enqueue("q", 1, {.delay = 5s, .group = "g"});

  advance(5s);

  EXPECT_EQ(state_of(2), "gated");
}

TEST_F(Group, DeadHeadIsSkipped) {
  lease_first_of_three();

  fail_permanently("w", held(1, 1));

  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(state_of(2), "leased");
}

TEST_F(Group, DeadHeadBlocksWhenItIsToldTo) {
  lease_first_of_three({.when_dead = on_dead::block});

  fail_permanently("w", held(1, 1));

  EXPECT_EQ(state_of(2), "gated");
  enqueue("q", 1, {.group = "g"});
  EXPECT_EQ(state_of(4), "gated");
}

TEST_F(Group, CancelledHeadOpensTheGate) {
  enqueue("q", 3, {.group = "g"});

  cancel(1);

  EXPECT_EQ(state_of(2), "ready");
  EXPECT_EQ(state_of(3), "gated");
}

TEST_F(Group, CancelledGatedTaskLeavesAloneTheOthers) {
  lease_first_of_three();

  EXPECT_EQ(cancel(2), "p: changed 2 cancelled");

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok; w: got 3/t2");
}

TEST_F(Group, PromotedGatedTaskStaysGatedButWaitsNoLonger) {
  enqueue("q", 1, {.group = "g"});
  enqueue("q", 1, {.delay = 1h, .allow_promotion = true, .group = "g"});

  EXPECT_EQ(promote(2), "p: changed 2 gated");
  EXPECT_EQ(promote(2), "p: unchanged 2 gated");

  cancel(1);
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Group, ThatRanEmptyStartsAgain) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 1, {.group = "g"});
  complete("w", held(1, 1));

  EXPECT_EQ(enqueue("q", 1, {.group = "g"}), "p: enqueued 2; w: got 2/t2");
}

TEST_F(Group, ExpiredHeadIsHandedOutAgainBeforeTheOthers) {
  lease_first_of_three({.lease = 1s});
  advance(1s);

  EXPECT_EQ(expire(held(1, 1)), "w: lost 1/t1; timer t1 dropped; w: got 1/t2@2");
}

TEST_F(Group, SurvivesARestart) {
  lease_first_of_three();

  restart();

  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(2), "gated");
  complete("w", held(1, 1));
  EXPECT_EQ(state_of(2), "ready");
}

} // namespace
} // namespace codeq::test
