// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/stats_sum.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {

TEST(GatherStats, PartsOfAQueueAndOfAWorkerAreAdded) {
  base::coordinator_counts part;
  part.queues = {{{.queue = {"t", "q"}, .ready = 1}, 2, 3}};
  part.queues[0].ready_by_priority[9] = 4;
  part.workers = {{.name = "w", .is_connected = true, .free_slots = 5, .tenants = {"t"}}};
  part.gauges = {{"g", 6}};
  auto other = part;
  other.queues.push_back({{.queue = {"t", "r"}, .leased = 7}});
  other.workers[0].is_connected = false;
  other.workers[0].tenants = {"u"};

  auto sum = sum_of({part, other});

  ASSERT_EQ(sum.queues.size(), 2u);
  EXPECT_EQ(sum.queues[0].queue.queue, "q");
  EXPECT_EQ(sum.queues[0].ready, 2u);
  EXPECT_EQ(sum.queues[0].dead_now, 4u);
  EXPECT_EQ(sum.queues[0].cancelled, 6u);
  EXPECT_EQ(sum.queues[0].ready_by_priority[9], 8u);
  EXPECT_EQ(sum.queues[1].leased, 7u);
  ASSERT_EQ(sum.workers.size(), 1u);
  EXPECT_TRUE(sum.workers[0].is_connected);
  EXPECT_EQ(sum.workers[0].free_slots, 10u);
  EXPECT_EQ(sum.workers[0].tenants, (std::set<std::string>{"t", "u"}));
  EXPECT_EQ(sum.gauges["g"], 12);
}

} // namespace codeq::coordinator
