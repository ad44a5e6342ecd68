// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/stats_sum.hpp"

#include "codeq/limits.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::coordinator {

using namespace std::chrono_literals;

namespace {

base::worker_counts worker(const std::string& name, const std::string& tenant) {
  base::worker_counts counts;
  counts.name = name;
  counts.tenants = {tenant};
  counts.queues = {{tenant, "q"}};
  counts.queue_count = 1;
  return counts;
}

running_lease lease(std::uint16_t shard, const std::string& tenant, duration since) {
  return {{shard_id{shard}, 1}, {tenant, "q"}, timestamp{since}, 5s};
}

} // namespace

TEST(GatherStats, PartsOfAQueueAndOfAWorkerAreAdded) {
  base::coordinator_counts part;
  base::queue_counts queue;
  queue.queue = {"t", "q"};
  queue.ready = 1;
  queue.dead_now = 2;
  queue.cancelled = 3;
  queue.oldest_ready = 4s;
  queue.max_depth = 10;
  part.queues = {queue};
  part.queues[0].ready_by_priority[9] = 4;
  part.workers = {worker("w", "t")};
  part.workers[0].is_connected = true;
  part.workers[0].free_slots = 5;
  part.gauges = {{"g", 6}};
  part.shards = 1;
  auto other = part;
  other.queues[0].paused = true;
  other.queues[0].oldest_ready = 9s;
  queue.queue.queue = "r";
  queue.leased = 7;
  other.queues.push_back(queue);
  other.workers[0].is_connected = false;
  other.workers[0].tenants = {"u"};

  auto sum = sum_of({part, other});

  ASSERT_EQ(sum.queues.size(), 2u);
  EXPECT_EQ(sum.queues[0].queue.queue, "q");
  EXPECT_EQ(sum.queues[0].ready, 2u);
  EXPECT_EQ(sum.queues[0].dead_now, 4u);
  EXPECT_EQ(sum.queues[0].cancelled, 6u);
  EXPECT_EQ(sum.queues[0].ready_by_priority[9], 8u);
  EXPECT_TRUE(sum.queues[0].paused);
  EXPECT_EQ(sum.queues[0].oldest_ready, 9s);
  EXPECT_EQ(sum.queues[0].max_depth, 10u);
  EXPECT_EQ(sum.queues[1].leased, 7u);
  ASSERT_EQ(sum.workers.size(), 1u);
  EXPECT_TRUE(sum.workers[0].is_connected);
  EXPECT_EQ(sum.workers[0].free_slots, 10u);
  EXPECT_EQ(sum.workers[0].tenants, (std::set<std::string>{"t", "u"}));
  EXPECT_EQ(sum.gauges["g"], 12);
  EXPECT_EQ(sum.shards, 2u);
}

TEST(GatherStats, QueuesAndLeasesOfAWorkerAreThoseOfAllShards) {
  base::coordinator_counts part;
  part.workers = {worker("w", "t")};
  part.workers[0].running = {lease(0, "t", 9s)};
  part.workers[0].queue_count = 7;
  auto other = part;
  other.workers[0].queues.push_back({"t", "r"});
  other.workers[0].running = {lease(1, "t", 3s)};

  auto workers = sum_of({part, other}).workers;
  limit_shown(workers);

  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].queue_count, 7u);
  EXPECT_EQ(workers[0].queues, (std::vector<queue_address>{{"t", "q"}, {"t", "r"}}));
  ASSERT_EQ(workers[0].running.size(), 2u);
  EXPECT_EQ(workers[0].running[0].task.shard, shard_id{1});
}

TEST(GatherStats, ATenantSeesItsWorkersWithItsQueuesAndLeasesOnly) {
  std::vector<base::worker_counts> all{worker("mine", "t"), worker("theirs", "u")};
  all[0].queues.push_back({"u", "q"});
  all[0].running = {lease(0, "t", 1s), lease(1, "u", 2s)};
  all.push_back(worker("gone", "u"));
  all[2].running = {lease(2, "t", 3s)};

  auto seen = workers_of("t", all);

  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].name, "mine");
  EXPECT_EQ(seen[0].queues, (std::vector<queue_address>{{"t", "q"}}));
  ASSERT_EQ(seen[0].running.size(), 1u);
  EXPECT_EQ(seen[0].running[0].task.shard, shard_id{0});
  EXPECT_EQ(seen[1].name, "gone");
}

TEST(GatherStats, AListOfWorkersIsBounded) {
  std::vector<base::worker_counts> workers(limits::workers_shown_max + 5, worker("w", "t"));
  for (auto& one : workers)
    one.running = {lease(0, "t", 1s), lease(1, "t", 2s)};

  limit_shown(workers);

  EXPECT_EQ(workers.size(), limits::workers_shown_max);
  EXPECT_EQ(workers[0].running.size(), 1u);
  std::vector<base::worker_counts> few{worker("w", "t")};
  for (std::uint16_t i = 0; i < 30; ++i)
    few[0].running.push_back(lease(i, "t", (30 - i) * 1s));
  limit_shown(few);
  ASSERT_EQ(few[0].running.size(), limits::worker_leases_shown_max);
  EXPECT_EQ(few[0].running[0].task.shard, shard_id{29});
}

} // namespace codeq::coordinator
