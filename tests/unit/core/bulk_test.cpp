// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

constexpr auto redrive_them = core::bulk_kind::redrive;
constexpr auto purge_dead = core::bulk_kind::purge_dead;
constexpr auto purge_all = core::bulk_kind::purge_all;

class Bulk : public shard_fixture {
protected:
  /// Enqueues `count` tasks and makes all of them dead.
  void bury(const std::string& queue, int count) {
    enqueue(queue, static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      force(++buried_, force_kind::fail);
  }

  static core::task_part
  tasks_of(const std::string& queue, std::uint32_t limit = 100, int after = 0) {
    core::task_part part;
    part.filter.queue = queue;
    part.limit = limit;
    part.after = after == 0 ? 0 : task(after);
    return part;
  }

private:
  int buried_ = 0;
};

TEST_F(Bulk, RedrivesTheDeadOfOneQueue) {
  bury("q", 2);
  bury("r", 1);
  enqueue("q");

  EXPECT_EQ(change_many(redrive_them, tasks_of("q")), "p: 2 changed");

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(state_of(2), "ready");
  EXPECT_EQ(state_of(3), "dead");
}

TEST_F(Bulk, RedrivesTheDeadOfAWholeTenant) {
  bury("q", 1);
  bury("r", 1);

  EXPECT_EQ(change_many(redrive_them, tasks_of("")), "p: 2 changed");
}

TEST_F(Bulk, TouchesNoOtherTenant) {
  bury("q", 1);
  auto part = tasks_of("q");
  part.filter.tenant = "other";

  EXPECT_EQ(change_many(purge_dead, part), "p: 0 changed");
  EXPECT_EQ(change_many(purge_all, part), "p: 0 changed");
  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(Bulk, GoesOnWhereThePartBeforeEnded) {
  bury("q", 5);

  EXPECT_EQ(change_many(redrive_them, tasks_of("q", 2)), "p: 2 changed and more behind 2");
  EXPECT_EQ(change_many(redrive_them, tasks_of("q", 2, 2)), "p: 2 changed and more behind 4");
  EXPECT_EQ(change_many(redrive_them, tasks_of("q", 2, 4)), "p: 1 changed");
}

TEST_F(Bulk, TakesNothingBeyondItsBound) {
  bury("q", 3);
  auto part = tasks_of("q");
  part.below = task(3);

  EXPECT_EQ(change_many(purge_dead, part), "p: 2 changed");
  EXPECT_EQ(state_of(3), "dead");
}

TEST_F(Bulk, LooksAtABoundedNumberOfTasks) {
  auto many = tuning::bulk_looked_at_max + 1;
  enqueue("q", many, {.body_size = 8});
  force(1, force_kind::complete);

  auto part = change_many(purge_dead, tasks_of("q"));

  EXPECT_EQ(part, "p: 0 changed and more behind " + std::to_string(many - 1));
}

TEST_F(Bulk, PurgeOfDeadOnesLeavesTheLivingAlone) {
  bury("q", 1);
  enqueue("q");

  EXPECT_EQ(change_many(purge_dead, tasks_of("q")), "p: 1 changed");

  EXPECT_EQ(describe("p", 1), "p: 1 is not here");
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Bulk, PurgeOfAllRevokesLeasesInOneMessage) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 3);
  advance(2s);

  EXPECT_EQ(
    change_many(purge_all, tasks_of("q")),
    "w: lost 1/t1 2/t2; timer t1 dropped; timer t2 dropped; p: 3 changed");

  EXPECT_EQ(complete("w", held(1, 1)), "w: 1 is not here");
  EXPECT_EQ(state().queues[0]->ready, 0);
  EXPECT_EQ(state().leases.size(), 0);
}

TEST_F(Bulk, PurgeOfAllTakesTwoRecords) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 3);

  change_many(purge_all, tasks_of("q"));

  EXPECT_EQ(events().size(), 2);
}

TEST_F(Bulk, WhoAwaitsAPurgedTaskHearsOfIt) {
  enqueue("q");
  await("p", {1});

  EXPECT_EQ(change_many(purge_all, tasks_of("q")), "p: 1 is not here; p: 1 changed");
}

TEST_F(Bulk, LastPartOfAPurgeOfAllCoversWhatEndedLongAgo) {
  enqueue("q", 3);
  force(1, force_kind::complete);
  const queue_address queue{.queue = "q"};

  change_many(purge_all, tasks_of("q", 2));
  EXPECT_EQ(state().purged, nullptr);
  change_many(purge_all, tasks_of("q", 2, 2));

  EXPECT_EQ(state().purged->at(queue), task(4));
  restart();
  EXPECT_EQ(state().purged->at(queue), task(4));
}

TEST_F(Bulk, PurgeOfOneStateLeavesWhatEndedLongAgo) {
  bury("q", 1);
  auto part = tasks_of("q");
  part.filter.state = task_state::dead;

  EXPECT_EQ(change_many(purge_all, part), "p: 1 changed");

  EXPECT_EQ(state().purged, nullptr);
}

TEST_F(Bulk, PurgeMarksNothingThatIsStillToCome) {
  enqueue("q");
  auto part = tasks_of("q");
  part.below = ~sequence{0};

  change_many(purge_all, part);

  EXPECT_EQ(state().purged->at({"default", "q"}), task(2));
}

TEST_F(Bulk, WhatIsEnqueuedAfterAPurgeStays) {
  enqueue("q");
  together([&] {
    change_many(purge_all, tasks_of("q"));
    enqueue("q");
  });
  restart();

  EXPECT_EQ(state_of(2), "ready");
  EXPECT_EQ(describe("p", 2), "p: 2 is ready");
}

class BulkOfAList : public Bulk {
protected:
  /// Changes the tasks of a list; each is expected to have died under that token.
  std::string change_listed(
    core::bulk_kind what,
    const std::vector<std::pair<int, std::uint64_t>>& tasks,
    const std::string& tenant = "default",
    const std::string& queue = "q") {
    core::change_many c{1, 1, what, {}};
    c.part.filter.tenant = tenant;
    c.part.filter.queue = queue;
    c.part.limit = 100;
    for (const auto& [number, token] : tasks)
      c.tasks.push_back({task(number), fencing_token{token}});
    return decide(c);
  }
};

TEST_F(BulkOfAList, ChangesTheTasksOfTheListOnly) {
  bury("q", 4);

  EXPECT_EQ(change_listed(core::bulk_kind::redrive_listed, {{1, 0}, {3, 0}}), "p: 2 changed");
  EXPECT_EQ(change_listed(core::bulk_kind::purge_listed, {{2, 0}}), "p: 1 changed");

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(state_of(3), "ready");
  EXPECT_EQ(state_of(4), "dead");
  EXPECT_EQ(describe("o", 2), "o: 2 is not here");
}

TEST_F(BulkOfAList, LeavesTasksAloneThatAreNotDeadByThatDeath) {
  enqueue("q", 2);
  attach("w", {"q"});
  claim("w", 2);
  fail_permanently("w", held(1, 1));
  auto first = value(entry_of(1).token);
  redrive(1);
  claim("w", 1);
  fail_permanently("w", held(1, 3));
  auto second = value(entry_of(1).token);

  EXPECT_EQ(change_listed(core::bulk_kind::redrive_listed, {{1, first}, {2, 0}}), "p: 0 changed");
  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(state_of(2), "leased");
  change_listed(core::bulk_kind::redrive_listed, {{1, second}});
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(BulkOfAList, TouchesNoOtherTenantOrQueue) {
  bury("q", 1);

  for (auto what : {core::bulk_kind::redrive_listed, core::bulk_kind::purge_listed}) {
    EXPECT_EQ(change_listed(what, {{1, 0}}, "other"), "p: 0 changed");
    EXPECT_EQ(change_listed(what, {{1, 0}}, "default", "r"), "p: 0 changed");
  }
  EXPECT_EQ(change_listed(core::bulk_kind::count_purge, {{1, 0}}, "other"), "p: 0 changed");
  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(change_listed(core::bulk_kind::purge_listed, {{1, 0}}, "default", ""), "p: 1 changed");
}

TEST_F(BulkOfAList, CountingChangesNothing) {
  bury("q", 2);
  auto events_before = turns();

  EXPECT_EQ(change_listed(core::bulk_kind::count_redrive, {{1, 0}, {2, 0}}), "p: 2 changed");
  EXPECT_EQ(change_listed(core::bulk_kind::count_purge, {{1, 0}, {2, 0}}), "p: 2 changed");

  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(state_of(2), "dead");
  for (auto turn = events_before; turn < turns(); ++turn)
    EXPECT_TRUE(events_of(turn).empty());
}

TEST_F(BulkOfAList, TaskWhoseKeyIsTakenIsNeitherRedrivenNorCounted) {
  enqueue("q", 1, {.key = "k"});
  force(1, force_kind::fail);
  enqueue("q", 1, {.key = "k", .duplicate = on_duplicate::replace_ended});

  EXPECT_EQ(change_listed(core::bulk_kind::count_redrive, {{1, 0}}), "p: 0 changed");
  EXPECT_EQ(change_listed(core::bulk_kind::redrive_listed, {{1, 0}}), "p: 0 changed");
  EXPECT_EQ(change_listed(core::bulk_kind::count_purge, {{1, 0}}), "p: 1 changed");
}

TEST_F(BulkOfAList, UnknownTasksAreLeftOut) {
  bury("q", 1);

  EXPECT_EQ(
    change_listed(core::bulk_kind::purge_listed, {{1, 0}, {7, 0}, {1000, 0}}), "p: 1 changed");
}

} // namespace
} // namespace codeq::test
