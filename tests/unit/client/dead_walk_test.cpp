// SPDX-License-Identifier: Apache-2.0
#include "client/dead_walk.hpp"

#include "codeq/limits.hpp"

#include "client/dead_kinds.hpp"
#include "protocol/messages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::client {

namespace {

using namespace std::chrono_literals;

task_summary dead(sequence seq, std::string key = {}, std::string group = {}) {
  task_summary task;
  task.id.seq = seq;
  task.queue = "q";
  task.token = fencing_token{seq * 10};
  task.key = std::move(key);
  task.group = std::move(group);
  return task;
}

list_part part_of(std::vector<task_summary> tasks, bool more = false) {
  list_part part{std::move(tasks), 0, more, true};
  part.after = part.tasks.empty() ? 0 : part.tasks.back().id.seq;
  return part;
}

bulk_part changed(std::uint64_t tasks) {
  return {tasks, 0, false};
}

/// The next question in words.
std::string asked(const dead_walk& walk) {
  auto wire = walk.next()(1);
  if (walk.wants_list()) {
    auto request = protocol::list_request::parse(wire.body);
    return *request->read([](auto r) -> result<std::string> {
      return "list " + std::to_string(r.getShard()) + " after "
             + std::to_string(r.getFilter().getAfter()) + " limit "
             + std::to_string(r.getFilter().getLimit());
    });
  }
  auto request = protocol::bulk_request::parse(wire.body);
  return *request->read([](auto r) -> result<std::string> {
    auto words = "kind " + std::to_string(static_cast<int>(r.getWhat())) + " of "
                 + std::to_string(r.getShard()) + ":";
    for (auto task : r.getTasks())
      words += " " + std::to_string(task.getSeq()) + "/" + std::to_string(task.getToken());
    return words;
  });
}

} // namespace

TEST(DeadWalk, ChangesWhatItListsPartByPartOnEveryShard) {
  dead_walk walk({}, dead_change::redrive, 2);

  EXPECT_EQ(asked(walk), "list 0 after 0 limit 1000");
  ASSERT_TRUE(walk.take(part_of({dead(3), dead(5)}, true)));
  EXPECT_EQ(asked(walk), "kind 3 of 0: 3/30 5/50");
  EXPECT_EQ(walk.take(changed(2)), 0ms);
  EXPECT_EQ(asked(walk), "list 0 after 5 limit 1000");
  ASSERT_TRUE(walk.take(part_of({})));
  EXPECT_EQ(asked(walk), "list 1 after 0 limit 1000");
  ASSERT_TRUE(walk.take(part_of({dead(4)})));
  EXPECT_EQ(asked(walk), "kind 3 of 1: 4/40");
  static_cast<void>(walk.take(changed(1)));

  EXPECT_TRUE(walk.is_over());
  EXPECT_EQ(walk.changed(), 3u);
}

TEST(DeadWalk, StopsAtTheLimitOfChangedTasks) {
  dead_walk walk({.limit = 3}, dead_change::purge, 4);

  EXPECT_EQ(asked(walk), "list 0 after 0 limit 3");
  ASSERT_TRUE(walk.take(part_of({dead(1), dead(2), dead(3)}, true)));
  EXPECT_EQ(asked(walk), "kind 4 of 0: 1/10 2/20 3/30");
  static_cast<void>(walk.take(changed(2)));
  EXPECT_EQ(asked(walk), "list 0 after 3 limit 1") << "one was not dead any more";
  ASSERT_TRUE(walk.take(part_of({dead(4)}, true)));
  static_cast<void>(walk.take(changed(1)));

  EXPECT_TRUE(walk.is_over());
}

TEST(DeadWalk, KeepsTheRate) {
  dead_walk walk({.rate = 100}, dead_change::redrive, 1);

  EXPECT_EQ(asked(walk), "list 0 after 0 limit 10");
  ASSERT_TRUE(walk.take(part_of({dead(1), dead(2)}, true)));
  EXPECT_EQ(walk.take(changed(2)), 20ms);
}

TEST(DeadWalk, DryRunOnlyCountsAndDoesNotWait) {
  dead_walk redrive({.rate = 1, .is_dry_run = true}, dead_change::redrive, 1);
  dead_walk purge({.is_dry_run = true}, dead_change::purge, 1);

  ASSERT_TRUE(redrive.take(part_of({dead(1)})));
  ASSERT_TRUE(purge.take(part_of({dead(1)})));

  EXPECT_EQ(asked(redrive), "kind 5 of 0: 1/10");
  EXPECT_EQ(asked(purge), "kind 6 of 0: 1/10");
  EXPECT_EQ(redrive.take(changed(1)), 0ms);
  EXPECT_EQ(redrive.changed(), 1u);
}

TEST(DeadWalk, DryRunOfARedriveCountsOneTaskPerKey) {
  dead_walk walk({.is_dry_run = true}, dead_change::redrive, 1);

  ASSERT_TRUE(walk.take(part_of({dead(1, "k"), dead(2, "k"), dead(3, "k", "g"), dead(4)}, true)));
  EXPECT_EQ(asked(walk), "kind 5 of 0: 1/10 3/30 4/40");
  static_cast<void>(walk.take(changed(3)));
  ASSERT_TRUE(walk.take(part_of({dead(5, "k"), dead(6, "l")})));
  EXPECT_EQ(asked(walk), "kind 5 of 0: 6/60") << "also over parts";

  dead_walk purge({.is_dry_run = true}, dead_change::purge, 1);
  ASSERT_TRUE(purge.take(part_of({dead(1, "k"), dead(2, "k")})));
  EXPECT_EQ(asked(purge), "kind 6 of 0: 1/10 2/20") << "all of them are purged";
}

TEST(DeadWalk, GoesOnAfterAPartWithoutTasks) {
  dead_walk walk({.error = "rare"}, dead_change::redrive, 1);
  auto part = part_of({}, true);
  part.after = 2000;

  ASSERT_TRUE(walk.take(part));

  EXPECT_EQ(asked(walk), "list 0 after 2000 limit 1000");
}

TEST(DeadWalk, RefusesAnOlderCoordinator) {
  dead_walk walk({}, dead_change::redrive, 1);
  auto part = part_of({dead(1)});
  part.knows_all_filters = false;

  EXPECT_EQ(walk.take(part).error().code, errc::unsupported);
}

TEST(DeadWalk, FilterSelectsDeadTasks) {
  auto filter = filter_of(
    {.tenant = "t", .queue = "q", .group = "g", .error = "e", .died = {timestamp{1ms}, {}}});

  EXPECT_EQ(filter.state, task_state::dead);
  EXPECT_EQ(filter.tenant + filter.queue + filter.group + filter.error, "tqge");
  EXPECT_EQ(filter.ended.since, timestamp{1ms});
}

TEST(DeadKinds, AreCountedByFingerprintMostFrequentFirst) {
  dead_kinds kinds;
  auto add = [&](sequence seq, const char* text, duration died) {
    auto task = dead(seq);
    task.error_text = text;
    task.ended_at = timestamp{died};
    kinds.add(task);
  };
  add(1, "no order 17", 5s);
  add(2, "disk is full", 1s);
  add(3, "no order 4", 9s);
  add(4, "no order 99", 7s);

  auto summary = kinds.summary();

  ASSERT_EQ(summary.kinds.size(), 2u);
  const auto& first = summary.kinds.front();
  EXPECT_EQ(first.fingerprint, "no order #");
  EXPECT_EQ(first.tasks, 3u);
  EXPECT_EQ(first.first_died, timestamp{5s});
  EXPECT_EQ(first.last_died, timestamp{9s});
  EXPECT_EQ(first.last.seq, 3u);
  EXPECT_EQ(first.error_text, "no order 4");
  EXPECT_EQ(summary.tasks, 4u);
  EXPECT_EQ(summary.left_out, 0u);
}

TEST(DeadKinds, FurtherKindsAreCountedTogether) {
  dead_kinds kinds(2);
  for (const char* text : {"a", "b", "c", "d", "a"}) {
    auto task = dead(1);
    task.error_text = text;
    kinds.add(task);
  }

  auto summary = kinds.summary();

  EXPECT_EQ(summary.kinds.size(), 2u);
  EXPECT_EQ(summary.tasks, 5u);
  EXPECT_EQ(summary.left_out, 2u);
}

} // namespace codeq::client
