// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

class Purge : public shard_fixture {
protected:
  /// Enqueues `count` tasks, of which `w` failed the first one permanently under t1.
  void bury_first_of(std::size_t count, const enqueue_options& options = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", count, options);
    fail_permanently("w", held(1, 1));
  }
};

TEST_F(Purge, NobodyKnowsThePurgedTask) {
  bury_first_of(2);

  EXPECT_EQ(purge(1), "p: changed 1 cancelled");

  EXPECT_EQ(describe("p", 1), "p: 1 is not here");
  EXPECT_EQ(await("p", {1}), "p: 1 is not here");
  EXPECT_EQ(cancel(1), "p: 1 is not here");
  EXPECT_EQ(redrive(1), "p: 1 is not here");
  EXPECT_EQ(purge(1), "p: 1 is not here");
}

TEST_F(Purge, HeartbeatAfterPurgeRevivesNothing) {
  bury_first_of(2);
  purge(1);

  EXPECT_EQ(beat("w", held(1, 1)), "w: lost 1/t1");

  EXPECT_TRUE(events().empty());
  EXPECT_TRUE(entry_of(1).gone);
  EXPECT_EQ(state().stale_beats, 1);
}

TEST_F(Purge, RepeatedReportOfAPurgedTaskIsLeftToItsFate) {
  bury_first_of(2);
  purge(1);

  EXPECT_EQ(fail_permanently("w", held(1, 1)), "w: 1 is not here");
}

TEST_F(Purge, OnlyDeadTasksGo) {
  bury_first_of(2);

  EXPECT_EQ(purge(2), "p: unchanged 2 ready");
  EXPECT_TRUE(events().empty());
}

TEST_F(Purge, LeavesTheTotalsAsTheyAre) {
  bury_first_of(1);

  purge(1);

  EXPECT_EQ(state().queues[0]->totals.dead, 1);
  EXPECT_EQ(state().queues[0]->totals.cancelled, 0);
}

TEST_F(Purge, OpensTheGateThatADeadTaskBlocked) {
  bury_first_of(2, {.settings = {.when_dead = on_dead::block}, .group = "g"});
  EXPECT_EQ(state_of(2), "gated");

  purge(1);

  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Purge, SegmentOfPurgedTasksIsClosed) {
  bury_first_of(1);
  purge(1);

  take_snapshot();

  EXPECT_EQ(state_of(1), "not in memory");
  const auto& snapshot = std::get<core::snapshot_taken>(events().back());
  EXPECT_TRUE(snapshot.closed.at(0).entries.at(0).gone);
}

TEST_F(Purge, SurvivesARestart) {
  bury_first_of(2);
  purge(1);

  restart();

  EXPECT_EQ(describe("p", 1), "p: 1 is not here");
  EXPECT_EQ(state_of(2), "ready");
}

} // namespace
} // namespace codeq::test
