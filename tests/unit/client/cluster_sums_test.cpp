// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_sums.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace codeq::client {
namespace {

queue_stats queue(const char* name, std::uint64_t ready, duration oldest) {
  queue_stats made;
  made.queue = {"default", name};
  made.ready = ready;
  made.oldest_ready = oldest;
  return made;
}

TEST(ClusterSums, QueuesOfSeveralCoordinatorsAreOne) {
  coordinator_stats sum;
  add(sum, {{queue("a", 3, duration{5}), queue("b", 1, duration{1})}, {{"gauge", 2}}});
  add(sum, {{queue("b", 4, duration{9}), queue("c", 2, duration{0})}, {{"gauge", 5}}});

  ASSERT_EQ(sum.queues.size(), 3u);
  EXPECT_EQ(sum.queues[1].ready, 5u);
  EXPECT_EQ(sum.queues[1].oldest_ready, duration{9});
  EXPECT_EQ(sum.queues[2].queue.queue, "c");
  EXPECT_EQ(sum.gauges.at("gauge"), 7);
}

TEST(ClusterSums, ReadyTasksOfSeveralCoordinatorsAreAddedByPriority) {
  auto here = queue("a", 3, duration{5});
  here.ready_by_priority = {1, 2};
  auto there = queue("a", 5, duration{1});
  there.ready_by_priority[1] = 4;
  there.ready_by_priority[9] = 1;
  coordinator_stats sum;
  add(sum, {{here}, {}});
  add(sum, {{there}, {}});
  // An own coordinator has counts of its own.
  std::vector<base::queue_counts> own{{here}};
  add(own, std::vector{there});

  constexpr std::array<std::uint64_t, 10> both{1, 6, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(sum.queues.at(0).ready_by_priority, both);
  EXPECT_EQ(own.at(0).ready_by_priority, both);
}

TEST(ClusterSums, AShardThatNobodyCountsIsMissing) {
  coordinator_stats sum;
  add(sum, {{}, {}, 2});
  add(sum, {{}, {}, 3});
  EXPECT_EQ(sum.shards, 5u);
  EXPECT_TRUE(sum.are_shards_known);
  std::map<std::string, std::int64_t> gauges;
  set_missing(gauges, 0, sum.shards, 5);
  EXPECT_TRUE(gauges.empty());
  set_missing(gauges, 0, sum.shards, 6);
  EXPECT_EQ(gauges, (std::map<std::string, std::int64_t>{{missing_shards_gauge, 1}}));
  set_missing(gauges, 2, sum.shards, 8);
  EXPECT_EQ(gauges.at(missing_shards_gauge), 3);
  EXPECT_EQ(gauges.at(missing_coordinators_gauge), 2);
}

TEST(ClusterSums, ACoordinatorOfAnOlderVersionDoesNotSayHowManyShardsItCounts) {
  coordinator_stats sum;
  add(sum, {{}, {}, 2});
  add(sum, {{}, {}, 0, false});
  EXPECT_FALSE(sum.are_shards_known);
  std::map<std::string, std::int64_t> gauges;
  set_missing(gauges, 0, std::nullopt, 6);
  EXPECT_TRUE(gauges.empty());
}

TEST(ClusterSums, MissingShardsAreNamedAndTheRestIsCounted) {
  coordinator_stats sum;
  add(sum, {{}, {}, 3});
  const actors::missing_answers silent{1, {shard_id{4}, shard_id{7}}};

  set_missing(sum, silent, 6);
  EXPECT_EQ(sum.missing, silent.shards);
  EXPECT_EQ(sum.missing_unnamed, 1u);
  EXPECT_EQ(sum.gauges.at(missing_shards_gauge), 3);
  EXPECT_EQ(sum.gauges.at(missing_coordinators_gauge), 1);

  set_missing(sum, silent, 5);
  EXPECT_EQ(sum.missing_unnamed, 0u);
}

TEST(ClusterSums, NoShardIsMissingWhenAllAreCounted) {
  coordinator_stats sum;
  add(sum, {{}, {}, 6});

  set_missing(sum, {1, {shard_id{4}}}, 6);

  EXPECT_TRUE(sum.missing.empty());
  EXPECT_EQ(sum.missing_unnamed, 0u);
}

TEST(ClusterSums, ShardsOfSilentCoordinatorsAreNamedAlsoWhenAnOlderOneCountsNone) {
  coordinator_stats sum;
  add(sum, {{}, {}, 0, false});

  set_missing(sum, {1, {shard_id{4}}}, 6);

  EXPECT_EQ(sum.missing, std::vector{shard_id{4}});
  EXPECT_EQ(sum.missing_unnamed, 0u);
}

audited_command command(std::uint64_t operation, std::uint64_t changed) {
  audited_command made;
  made.at = timestamp{duration{100}};
  made.operation = operation;
  made.queue = "q";
  made.changed = changed;
  return made;
}

audit_part part_of_shard(std::vector<audited_command> commands) {
  audit_part part;
  part.commands = std::move(commands);
  part.is_of_shard = true;
  return part;
}

/// Operation and count of each command, and the operation of the place where the page ends.
std::string words_of(const audit_page& page) {
  std::string words;
  for (const auto& c : page.commands)
    words += std::to_string(c.operation) + ":" + std::to_string(c.changed) + " ";
  return words + (page.after ? "after " + std::to_string(page.after->operation) : "");
}

TEST(ClusterSums, CommandOfSeveralShardsIsOneInTheAuditLog) {
  audit_page sum;
  auto alone = command(5, 1);
  alone.task = task_id{shard_id{1}, 7};
  add(sum, part_of_shard({command(9, 2), alone}), 10);
  auto other = command(9, 3);
  other.queue = "r";
  add(sum, part_of_shard({other, command(7, 4)}), 10);

  EXPECT_EQ(words_of(sum), "9:5 7:4 5:1 ");
  EXPECT_EQ(sum.commands[0].queue, "");
  EXPECT_EQ(sum.commands[2].task, alone.task);
}

TEST(ClusterSums, PageOfTheAuditLogEndsWhereAShardHasSaidNoMore) {
  auto cut = part_of_shard({command(9, 1), command(6, 1)});
  cut.after = audit_place{timestamp{duration{100}}, 6};
  audit_page sum;
  add(sum, part_of_shard({command(8, 1), command(5, 1)}), 10);
  add(sum, cut, 10);
  EXPECT_EQ(words_of(sum), "9:1 8:1 6:1 after 6");

  audit_page small;
  add(small, part_of_shard({command(8, 1), command(5, 1)}), 2);
  add(small, part_of_shard({command(9, 1)}), 2);
  EXPECT_EQ(words_of(small), "9:1 8:1 after 8");
}

TEST(ClusterSums, ACommandThatAnOlderVersionTellsTwiceCountsOnce) {
  audit_part whole;
  whole.commands = {command(9, 5)};
  audit_page sum;
  add(sum, whole, 10);
  add(sum, whole, 10);
  EXPECT_EQ(words_of(sum), "9:5 ");
}

TEST(ClusterSums, WorkerOfSeveralCoordinatorsIsOne) {
  worker_info here{"w", true, 2, 3, {{"default", "a"}}, 1, {}};
  worker_info there{"w", true, 1, 4, {{"default", "a"}, {"default", "b"}}, 2, {}};
  there.running.push_back({{shard_id{1}, 7}, {"default", "b"}, timestamp{duration{5}}, {}});
  std::vector<worker_info> sum;
  add(sum, std::vector{here});
  add(sum, std::vector{there});

  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(sum[0].free_slots, 3u);
  EXPECT_EQ(sum[0].leases, 7u);
  EXPECT_EQ(sum[0].queues.size(), 2u);
  EXPECT_EQ(sum[0].queue_count, 2u);
  EXPECT_EQ(sum[0].running.size(), 1u);
}

worker_info drained(bool is_drained) {
  worker_info worker;
  worker.name = "w";
  worker.is_draining = is_drained;
  return worker;
}

TEST(ClusterSums, ADrainCountsOnceEveryCoordinatorHasAnswered) {
  std::vector<worker_info> sum;
  add(sum, std::vector<worker_info>{});
  add(sum, std::vector{drained(true)});
  EXPECT_TRUE(check_drained("w", true, sum, 0));
  EXPECT_EQ(errc::disconnected, check_drained("w", true, sum, 1).error().code);
  EXPECT_EQ(errc::disconnected, check_drained("w", true, {}, 1).error().code);
}

TEST(ClusterSums, ADrainOfAWorkerThatNobodyKnowsNamesIt) {
  auto refused = check_drained("w", true, {}, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(errc::invalid_argument, refused.error().code);
  EXPECT_EQ("worker is `w`; no coordinator knows it", refused.error().context);
}

TEST(ClusterSums, ACoordinatorOfAnOlderVersionDrainsNoWorker) {
  auto other = drained(false);
  other.name = "x";
  EXPECT_EQ(
    errc::unsupported, check_drained("w", true, {drained(true), other}, 0).error().code);
  EXPECT_EQ(errc::unsupported, check_drained("w", true, {drained(false)}, 0).error().code);
  EXPECT_EQ(errc::unsupported, check_drained("w", false, {drained(true)}, 0).error().code);
}

} // namespace
} // namespace codeq::client
