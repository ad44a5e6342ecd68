// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/state/queue_removal.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class QueueRemoval : public shard_fixture {
protected:
  [[nodiscard]] bool exists(const std::string& queue, const std::string& tenant = "default") {
    return state().find_queue({tenant, queue}) != nullptr;
  }

  void end_one() {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q");
    complete("w", held(1, 1), "done");
    take_snapshot();
  }

  std::string purge_tenant(const std::string& tenant = "default") {
    core::task_part all;
    all.filter.tenant = tenant;
    all.limit = 1000;
    return change_many(core::bulk_kind::purge_all, all);
  }

  void expect_sound() {
    EXPECT_EQ(core::find_violations(state()), std::vector<std::string>{});
    auto before = core::durable_text(state());
    EXPECT_EQ(core::durable_text(*recovered(turns())), before);
  }
};

TEST_F(QueueRemoval, QueueStaysAsLongAsRecordsOfItsEndedTasks) {
  end_one();
  EXPECT_EQ(state().find_queue({"default", "q"})->totals.completed, 1);

  advance(limits::retention_completed_default - 1ms);
  take_snapshot();
  EXPECT_TRUE(exists("q"));

  advance(1ms);
  take_snapshot();
  EXPECT_FALSE(exists("q"));
  EXPECT_TRUE(state().tenant_queues.empty());
  expect_sound();
}

TEST_F(QueueRemoval, QueueStaysWhileATaskOfItIsLiveOrDead) {
  attach("w", {"live", "dead"});
  enqueue("live", 1, {.delay = 1000 * 24h});
  enqueue("dead");
  claim("w", 1);
  fail_permanently("w", held(2, 1));

  advance(400 * 24h);
  take_snapshot();

  EXPECT_TRUE(exists("live"));
  EXPECT_TRUE(exists("dead"));
}

TEST_F(QueueRemoval, QueueWithSettingsGoesWhenTheyAreResetToTheDefaults) {
  configure("q", {.max_depth = 7});
  pause("r");
  take_snapshot();
  EXPECT_TRUE(exists("q") && exists("r"));

  configure("q", {});
  unpause("r");
  take_snapshot();

  EXPECT_FALSE(exists("q") || exists("r"));
  expect_sound();
}

TEST_F(QueueRemoval, PurgeOfATenantMakesRoomForOtherQueues) {
  end_one();
  enqueue("r");
  enqueue("q", 1, {.tenant = "theirs"});

  purge_tenant();
  take_snapshot();

  EXPECT_FALSE(exists("q") || exists("r"));
  EXPECT_TRUE(exists("q", "theirs"));
  EXPECT_EQ(state().tenant_queues.count("default"), 0);
  expect_sound();
}

TEST_F(QueueRemoval, PurgedTasksStayHiddenUntilTheirRecordsHaveExpired) {
  end_one();
  purge_tenant();
  take_snapshot();
  EXPECT_FALSE(exists("q"));

  ASSERT_NE(state().purged, nullptr);
  EXPECT_GT(state().purged->at({"default", "q"}), task(1));
  enqueue("q");
  take_snapshot();
  EXPECT_GT(state().purged->at({"default", "q"}), task(1)) << "for a later queue of that name, too";
  purge_tenant();
  take_snapshot();
  EXPECT_FALSE(exists("q"));
  advance(limits::retention_completed_default);
  take_snapshot();

  EXPECT_EQ(state().purged, nullptr);
  EXPECT_TRUE(state().removed_marks.empty());
  expect_sound();
}

TEST_F(QueueRemoval, PartlyPurgedQueueStays) {
  end_one();
  core::task_part part;
  part.limit = 1000;
  part.below = task(2);
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  complete("w", held(2, 2));
  take_snapshot();

  change_many(core::bulk_kind::purge_all, part);
  take_snapshot();

  EXPECT_TRUE(exists("q"));
  EXPECT_EQ(state().purged->at({"default", "q"}), task(2));
  advance(limits::retention_completed_default);
  take_snapshot();
  EXPECT_FALSE(exists("q"));
  EXPECT_EQ(state().purged, nullptr);
}

TEST_F(QueueRemoval, WorkersOfARemovedQueueGetTheTasksOfTheNextOneWithItsName) {
  attach("w", {"q", "r"});
  enqueue("r");
  configure("q", {.max_depth = 1});
  configure("q", {});
  take_snapshot();
  EXPECT_FALSE(exists("q"));
  expect_sound();

  claim("w", 2);

  EXPECT_EQ(enqueue("q"), "p: enqueued 2; w: got 2/t2");
  expect_sound();
}

TEST_F(QueueRemoval, IndexOfARemovedQueueIsUsedAgain) {
  for (int i = 0; i < 100; ++i) {
    enqueue("q" + std::to_string(i));
    purge_tenant();
    take_snapshot();
  }

  EXPECT_LE(state().queues.size(), 2);
  expect_sound();
}

TEST_F(QueueRemoval, QueueWithKeysAndGroupsLeavesNothingBehind) {
  enqueue("q", 1, {.group = "g", .key = "k"});
  enqueue("q", 1, {.group = "g", .key = "l"});
  purge_tenant();
  take_snapshot();
  EXPECT_FALSE(exists("q"));

  enqueue("other");
  EXPECT_EQ(enqueue("q", 1, {.group = "g", .key = "k"}), "p: enqueued 4");
  expect_sound();
}

TEST_F(QueueRemoval, IsDueWithoutOtherWorkForASnapshot) {
  end_one();
  EXPECT_EQ(state().records_since_snapshot, 0);
  auto wait = core::next_wakeup(state(), base::manual_clock(clock()).now());
  ASSERT_TRUE(wait);
  EXPECT_LE(*wait, limits::retention_completed_default);

  advance(limits::retention_completed_default);

  EXPECT_EQ(state().records_since_snapshot, 1);
}

TEST_F(QueueRemoval, SurvivesARestart) {
  end_one();
  enqueue("r");
  purge_tenant();
  take_snapshot();
  restart();

  EXPECT_FALSE(exists("q") || exists("r"));
  EXPECT_GT(state().purged->at({"default", "q"}), task(1));
  EXPECT_EQ(core::find_violations(state()), std::vector<std::string>{});
}

TEST_F(QueueRemoval, QueueStaysWhenItsTenantHasTooManyMarks) {
  end_one();
  for (std::size_t i = 0; i < limits::queues_per_tenant_max; ++i)
    state().removed_marks["default"]["r" + std::to_string(i)] = {1, timestamp::max()};
  core::restore_purges(state());
  purge_tenant();

  take_snapshot();
  EXPECT_TRUE(exists("q"));

  advance(limits::retention_completed_default);
  take_snapshot();
  EXPECT_FALSE(exists("q"));
}

} // namespace
} // namespace codeq::test
