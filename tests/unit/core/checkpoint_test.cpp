// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Checkpoint : public shard_fixture {
protected:
  const core::checkpoint_taken& checkpoint() {
    return std::get<core::checkpoint_taken>(events().back());
  }
};

TEST_F(Checkpoint, ClosesSegmentsWhoseTasksAllEnded) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 2);
  complete("w", held(1, 1));
  take_checkpoint();
  EXPECT_EQ(checkpoint().closed.size(), 0u);
  EXPECT_EQ(checkpoint().blocks.size(), 1u);
  complete("w", held(2, 2));

  take_checkpoint();

  ASSERT_EQ(checkpoint().closed.size(), 1u);
  EXPECT_EQ(checkpoint().closed[0].entries.size(), 2u);
  EXPECT_EQ(checkpoint().closed[0].entries[0].token, held(1, 1).token);
  EXPECT_EQ(state_of(1), "not in memory");
}

TEST_F(Checkpoint, KeepsDeadTasks) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  fail_permanently("w", held(1, 1));

  take_checkpoint();

  EXPECT_EQ(checkpoint().closed.size(), 0u);
  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Checkpoint, NamesEachSegmentThatChangedOnce) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2);
  nack("w", held(1, 1), 0s);
  take_checkpoint();
  EXPECT_EQ(checkpoint().blocks.size(), 1u);

  take_checkpoint();

  EXPECT_EQ(checkpoint().blocks.size(), 0u);
}

TEST_F(Checkpoint, NamesGrantsWithoutLiveLeasesOnce) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 2);
  complete("w", held(1, 1));
  take_checkpoint();
  EXPECT_EQ(checkpoint().ended_grants.size(), 0u);
  complete("w", held(2, 2));
  take_checkpoint();
  EXPECT_EQ(checkpoint().ended_grants.size(), 1u);

  take_checkpoint();

  EXPECT_EQ(checkpoint().ended_grants.size(), 0u);
}

TEST_F(Checkpoint, HoldsAnswersThatProducersMayAskForAgain) {
  enqueue("q", 1, {.request = 3});
  enqueue("q", 1, {.request = 4, .answered_below = 4});

  take_checkpoint();

  ASSERT_EQ(checkpoint().producers.size(), 1u);
  EXPECT_EQ(checkpoint().producers[0].answered_below, 4u);
  ASSERT_EQ(checkpoint().producers[0].answers.size(), 1u);
  EXPECT_EQ(checkpoint().producers[0].answers[0].number, 4u);
}

TEST_F(Checkpoint, CountsEndsPerQueue) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 3, {.settings = {.lease = 1s}});
  complete("w", held(1, 1));
  fail_permanently("w", held(2, 2));
  advance(1s);
  expire(held(3, 3));

  take_checkpoint();

  core::queue_totals expected{{"default", "q"}, 1, 1, 0, 1};
  EXPECT_EQ(checkpoint().queues, std::vector<core::queue_totals>{expected});
}

TEST_F(Checkpoint, PositionsAscendFromTurnToTurn) {
  attach("w", {"q"});
  claim("w", 1);
  core::log_position last = 0;
  auto check = [&] {
    for (const auto& e : events()) {
      auto position = std::visit([](const auto& x) { return x.position; }, e);
      EXPECT_GT(position, last);
      last = position;
    }
  };

  enqueue("q", 2);
  check();
  complete("w", held(1, 1));
  check();
  take_checkpoint();
  check();
}

} // namespace
} // namespace codeq::test
