// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_fairness.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Snapshot : public shard_fixture {
protected:
  const core::snapshot_taken& snapshot() { return std::get<core::snapshot_taken>(events().back()); }
};

TEST_F(Snapshot, ClosesSegmentsWhoseTasksAllEnded) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 2);
  complete("w", held(1, 1));
  take_snapshot();
  EXPECT_EQ(snapshot().closed.size(), 0u);
  EXPECT_EQ(snapshot().blocks.size(), 1u);
  complete("w", held(2, 2));

  take_snapshot();

  ASSERT_EQ(snapshot().closed.size(), 1u);
  EXPECT_EQ(snapshot().closed[0].entries.size(), 2u);
  EXPECT_EQ(snapshot().closed[0].entries[0].token, held(1, 1).token);
  EXPECT_EQ(state_of(1), "not in memory");
}

TEST_F(Snapshot, LeavesNothingOfClosedSegmentsInALaneWhoseFirstTaskWaits) {
  enqueue("q");
  for (int task = 2; task <= 300; ++task) {
    enqueue("q");
    cancel(task);
  }

  take_snapshot();

  EXPECT_EQ(state().find_queue({"default", "q"})->lanes[0]->segments(), 1u);
  enqueue("q");
  attach("w", {"q"});
  claim("w", 3);
  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(301), "leased");
}

TEST_F(Snapshot, LeavesNothingOfClosedSegmentsInLanesOfFairnessKeys) {
  enqueue("q", 1, {.fairness = {"a", 1}});
  for (int task = 2; task <= 300; ++task) {
    enqueue("q", 1, {.fairness = {"a", 1}});
    cancel(task);
  }

  take_snapshot();

  EXPECT_EQ(state().find_queue({"default", "q"})->fair->lanes(0)->segments(), 1u);
}

TEST_F(Snapshot, KeepsDeadTasks) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  fail_permanently("w", held(1, 1));

  take_snapshot();

  EXPECT_EQ(snapshot().closed.size(), 0u);
  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Snapshot, NamesEachSegmentThatChangedOnce) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2);
  nack("w", held(1, 1), 0s);
  take_snapshot();
  EXPECT_EQ(snapshot().blocks.size(), 1u);

  take_snapshot();

  EXPECT_EQ(snapshot().blocks.size(), 0u);
}

TEST_F(Snapshot, NamesGrantsWithoutLiveLeasesOnce) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 2);
  complete("w", held(1, 1));
  take_snapshot();
  EXPECT_EQ(snapshot().ended_grants.size(), 0u);
  complete("w", held(2, 2));
  take_snapshot();
  EXPECT_EQ(snapshot().ended_grants.size(), 1u);

  take_snapshot();

  EXPECT_EQ(snapshot().ended_grants.size(), 0u);
}

TEST_F(Snapshot, HoldsAnswersThatProducersMayAskForAgain) {
  enqueue("q", 1, {.request = 3});
  enqueue("q", 1, {.request = 4, .answered_below = 4});

  take_snapshot();

  ASSERT_EQ(snapshot().producers.size(), 1u);
  EXPECT_EQ(snapshot().producers[0].answered_below, 4u);
  ASSERT_EQ(snapshot().producers[0].answers.size(), 1u);
  EXPECT_EQ(snapshot().producers[0].answers[0].number, 4u);
}

TEST_F(Snapshot, CountsEndsPerQueue) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 3, {.settings = {.lease = 1s}});
  complete("w", held(1, 1));
  fail_permanently("w", held(2, 2));
  advance(1s);
  expire(held(3, 3));

  take_snapshot();

  core::queue_totals expected{{"default", "q"}, 1, 1, 0, 1};
  EXPECT_EQ(snapshot().queues, std::vector<core::queue_totals>{expected});
}

TEST_F(Snapshot, HoldsTotalsOfQueuesThatChangedOnly) {
  attach("w", {"q7", "q8"});
  claim("w", 1);
  for (int i = 0; i < 1000; ++i)
    enqueue("q" + std::to_string(i));
  take_snapshot();
  EXPECT_EQ(snapshot().queues.size(), 1000u) << "all are new";

  complete("w", held(8, 1));
  take_snapshot();
  core::queue_totals expected{{"default", "q7"}, 1};
  expected.records_until = now() + limits::retention_completed_default;
  expected.records_below = task(9);
  EXPECT_EQ(snapshot().queues, std::vector{expected});

  claim("w", 1);
  nack("w", held(9, 2), 1h);
  take_snapshot();
  EXPECT_TRUE(snapshot().queues.empty()) << "a retry counts nowhere";

  cancel(10);
  core::task_part part;
  part.filter.queue = "q5";
  part.limit = 10;
  change_many(core::bulk_kind::purge_all, part);
  take_snapshot();
  ASSERT_EQ(snapshot().queues.size(), 1u);
  EXPECT_EQ(snapshot().queues.front().cancelled, 1);
  ASSERT_EQ(snapshot().removed_queues.size(), 1u);
  EXPECT_EQ(snapshot().removed_queues.front().queue.queue, "q5");
}

TEST_F(Snapshot, PositionsAscendFromTurnToTurn) {
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
  take_snapshot();
  check();
}

} // namespace
} // namespace codeq::test
