// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_sums.hpp"

#include <gtest/gtest.h>

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

} // namespace
} // namespace codeq::client
