// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

class Redrive : public shard_fixture {
protected:
  /// Enqueues `count` tasks, of which `w` failed the first one permanently under t1.
  void bury_first_of(std::size_t count, const enqueue_options& options = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", count, options);
    fail_permanently("w", held(1, 1));
  }
};

TEST_F(Redrive, DeadTaskHasAllItsAttemptsAgain) {
  bury_first_of(1, {.settings = {.max_attempts = 1}});
  claim("w", 1);

  EXPECT_EQ(redrive(1), "p: changed 1 ready; w: got 1/t2");
  EXPECT_EQ(entry_of(1).attempt, 1);
}

TEST_F(Redrive, TokensGoOnAscending) {
  bury_first_of(1);
  redrive(1);
  claim("w", 1);

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 stale_lease");
  EXPECT_EQ(complete("w", held(1, 2)), "w: answered 1/t2 ok");
}

TEST_F(Redrive, TaskHasItsOldPlace) {
  bury_first_of(2);
  redrive(1);

  EXPECT_EQ(claim("w", 2), "w: got 1/t2 2/t3");
}

TEST_F(Redrive, OnlyDeadTasksChange) {
  bury_first_of(2);

  EXPECT_EQ(redrive(2), "p: unchanged 2 ready");
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(redrive(9), "p: 9 is not here");
}

TEST_F(Redrive, SurvivesARestart) {
  bury_first_of(1);
  redrive(1);

  restart();

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).attempt, 0);
}

TEST_F(Redrive, TaskThatBlockedItsGroupOpensItAtItsPlace) {
  bury_first_of(3, {.settings = {.when_dead = on_dead::block}, .group = "g"});
  claim("w", 3);

  EXPECT_EQ(redrive(1), "p: changed 1 ready; w: got 1/t2");
  EXPECT_EQ(complete("w", held(1, 2)), "w: answered 1/t2 ok; w: got 2/t3");
}

TEST_F(Redrive, SkippedTaskGoesBeforeTheRestOfItsGroup) {
  bury_first_of(3, {.group = "g"});
  EXPECT_EQ(state_of(2), "ready");

  EXPECT_EQ(redrive(1), "p: changed 1 ready");

  EXPECT_EQ(state_of(2), "gated");
}

TEST_F(Redrive, SkippedTaskWaitsForTheLeasedOneOfItsGroup) {
  bury_first_of(3, {.group = "g"});
  claim("w", 2);

  EXPECT_EQ(redrive(1), "p: changed 1 gated");

  EXPECT_EQ(complete("w", held(2, 2)), "w: answered 2/t2 ok; w: got 1/t3");
}

} // namespace
} // namespace codeq::test
