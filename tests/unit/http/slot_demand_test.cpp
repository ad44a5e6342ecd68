// SPDX-License-Identifier: Apache-2.0
#include "http/routes/slot_demand.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

using namespace std::chrono_literals;

/// A queue whose tasks run for 2 s.
base::queue_counts queue_with(std::uint64_t ready, std::uint64_t leased) {
  base::queue_counts queue;
  queue.ready = ready;
  queue.leased = leased;
  queue.run.add(1s);
  queue.run.add(3s);
  return queue;
}

std::uint64_t slots_of(const base::queue_counts& queue, duration within = 60s) {
  return demand_of(queue, within).wanted_slots;
}

TEST(SlotDemand, IsWhatEndsAllTasksInTime) {
  EXPECT_EQ(2s, demand_of(queue_with(590, 10), 60s).run_time);
  EXPECT_EQ(590u, demand_of(queue_with(590, 10), 60s).backlog);
  EXPECT_EQ(20u, slots_of(queue_with(590, 10)));
  EXPECT_EQ(40u, slots_of(queue_with(590, 10), 30s));
  EXPECT_EQ(21u, slots_of(queue_with(591, 10))) << "rounded up";
  EXPECT_EQ(1u, slots_of(queue_with(1, 0)));
  EXPECT_EQ(0u, slots_of(queue_with(0, 0)));
}

TEST(SlotDemand, IsAtMostASlotForEachTask) {
  EXPECT_EQ(7u, slots_of(queue_with(4, 3), 2s));
  EXPECT_EQ(7u, slots_of(queue_with(4, 3), 1s));
}

TEST(SlotDemand, OfTasksThatAreMeasuredAsZeroIsPositive) {
  base::queue_counts queue;
  queue.ready = 120'000;
  queue.run.add(0ms);

  EXPECT_EQ(0ms, demand_of(queue, 60s).run_time);
  EXPECT_EQ(2u, slots_of(queue));
}

TEST(SlotDemand, WithoutARunTimeIsOneMoreThanTheLeases) {
  base::queue_counts queue;
  EXPECT_EQ(0u, slots_of(queue));
  queue.leased = 5;
  EXPECT_EQ(5u, slots_of(queue));
  queue.ready = 100;

  EXPECT_EQ(6u, slots_of(queue));
  EXPECT_EQ(std::nullopt, demand_of(queue, 60s).run_time);
}

TEST(SlotDemand, LeavesOutWhatNoSlotCouldStart) {
  auto held = queue_with(300, 0);
  held.held = 210;
  EXPECT_EQ(90u, demand_of(held, 60s).backlog);
  EXPECT_EQ(3u, slots_of(held));

  auto paused = queue_with(300, 30);
  paused.paused = true;
  EXPECT_EQ(0u, demand_of(paused, 60s).backlog);
  EXPECT_EQ(1u, slots_of(paused));

  auto full = queue_with(3000, 0);
  full.max_leased = 7;
  EXPECT_EQ(3000u, demand_of(full, 60s).backlog);
  EXPECT_EQ(7u, slots_of(full));
}

/// The slots after the last adjustment, and the most after any.
struct adjusted_slots {
  std::uint64_t last = 0;
  std::uint64_t most = 0;
};

/// Adds 10 tasks of 2 s each second, and adjusts the slots each 5 s. `leases_per_slot`: above 1, a
/// worker also leases tasks that it prefetches, so that each lease lasts longer.
adjusted_slots adjust(std::uint64_t leases_per_slot) {
  adjusted_slots slots;
  std::uint64_t tasks = 0;
  for (int round = 0; round < 200; ++round) {
    tasks += 50;
    tasks -= std::min(tasks, slots.last * 5 / 2);
    auto queue = queue_with(0, std::min(tasks, slots.last * leases_per_slot));
    queue.ready = tasks - queue.leased;
    queue.run = {};
    queue.run.add(2s * leases_per_slot);
    slots.last = slots_of(queue);
    slots.most = std::max(slots.most, slots.last);
  }
  return slots;
}

TEST(SlotDemand, SettlesAtTheSlotsThatKeepUp) {
  for (std::uint64_t leases_per_slot : {1u, 2u, 4u}) {
    EXPECT_EQ(20u, adjust(leases_per_slot).last) << leases_per_slot;
    EXPECT_EQ(20u, adjust(leases_per_slot).most) << leases_per_slot;
  }
}

} // namespace
} // namespace codeq::http
