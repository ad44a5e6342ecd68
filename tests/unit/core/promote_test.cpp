// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Promote : public shard_fixture {
protected:
  /// One task, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }
};

TEST_F(Promote, DeferredTaskThatAllowsItIsReadyNow) {
  enqueue("q", 1, {.delay = 1h, .allow_promotion = true});
  attach("w", {"q"});
  claim("w", 1);

  EXPECT_EQ(promote(1), "p: changed 1 ready; w: got 1/t1");
}

TEST_F(Promote, DeferralIsGuardedUnlessTheTaskAllowsPromotion) {
  enqueue("q", 1, {.delay = 1h});

  EXPECT_EQ(promote(1), "p: guarded 1 scheduled");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(advance(1h - 1ms), "");
  EXPECT_EQ(state_of(1), "scheduled");
  advance(1ms);
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Promote, WaitForARetryIsOver) {
  lease_one({.retry = {retry_kind::fixed, 1h, 1h}});
  fail("w", held(1, 1));
  claim("w", 1);

  EXPECT_EQ(promote(1), "p: changed 1 ready; w: got 1/t2@2");
}

TEST_F(Promote, DeferralThatIsOverGuardsNothing) {
  enqueue("q", 1, {.delay = 1s, .settings = {.retry = {retry_kind::fixed, 1h, 1h}}});
  attach("w", {"q"});
  claim("w", 1);
  advance(1s);
  fail("w", held(1, 1));

  EXPECT_EQ(promote(1), "p: changed 1 ready; w: work available");
}

TEST_F(Promote, LeasedTaskIsUnchangedAndNobodyElseGetsIt) {
  lease_one();
  attach("b", {"q"});
  claim("b", 1);

  EXPECT_EQ(promote(1), "p: unchanged 1 leased");
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
}

TEST_F(Promote, ReadyTaskKeepsItsPlace) {
  enqueue("q", 2);

  EXPECT_EQ(promote(2), "p: unchanged 2 ready");

  attach("w", {"q"});
  EXPECT_EQ(claim("w", 2), "w: got 1/t1 2/t2");
}

TEST_F(Promote, PromotedTaskHasItsPlaceByItsEnqueue) {
  enqueue("q", 1, {.delay = 1h, .allow_promotion = true});
  enqueue("q", 1);
  promote(1);
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 2), "w: got 1/t1 2/t2");
}

TEST_F(Promote, TerminalTaskIsUnchanged) {
  lease_one();
  complete("w", held(1, 1));

  EXPECT_EQ(promote(1), "p: unchanged 1 completed");
}

TEST_F(Promote, UnknownTaskIsNotMade) {
  EXPECT_EQ(promote(5), "p: 5 is not here");
  EXPECT_EQ(state_of(5), "not in memory");
}

TEST_F(Promote, SurvivesARestart) {
  enqueue("q", 1, {.delay = 1h, .allow_promotion = true});
  promote(1);

  restart();

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Promote, RetryIsNeverDelayedByTheLease) {
  lease_one({.retry = {retry_kind::fixed, 1s, 1s}, .lease = 60s});
  fail("w", held(1, 1));
  claim("w", 1);

  EXPECT_EQ(advance(999ms), "");
  EXPECT_EQ(advance(1ms), "w: got 1/t2@2");
}

TEST_F(Promote, TaskThatIsToBeCancelledIsUnchanged) {
  lease_one();
  cancel(1);

  EXPECT_EQ(promote(1), "p: unchanged 1 leased");
  fail("w", held(1, 1));
  EXPECT_EQ(state_of(1), "cancelled");
}

} // namespace
} // namespace codeq::test
