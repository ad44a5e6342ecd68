// SPDX-License-Identifier: Apache-2.0
#include "permits/world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace codeq::permits {

namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

} // namespace

TEST(PermitSimulation, LimitsHoldOverShardsAndNoSlotIsLost) {
  const auto first = number("CODEQ_SEED", 1);
  const auto seeds = std::getenv("CODEQ_SEED") ? 1 : number("CODEQ_SIM_SEEDS", 200);
  std::uint64_t through_permits = 0;
  std::uint64_t through_slots = 0;
  std::uint64_t deep_taken = 0;
  std::uint64_t deep_full = 0;
  std::uint64_t closes_confirmed = 0;
  std::uint64_t killed_workers = 0;
  std::uint64_t killed_shards = 0;
  std::uint64_t power_cuts = 0;

  for (auto seed = first; seed < first + seeds; ++seed) {
    world run(seed);
    ASSERT_EQ(run.run(), "") << "CODEQ_SEED=" << seed;
    EXPECT_GT(run.completed, 100u) << "CODEQ_SEED=" << seed;
    through_permits += run.through_permits;
    through_slots += run.through_slots;
    deep_taken += run.deep_taken;
    deep_full += run.deep_full;
    closes_confirmed += run.closes_confirmed;
    killed_workers += run.killed_workers;
    killed_shards += run.killed_shards;
    power_cuts += run.power_cuts;
  }
  std::cout << "kills: " << killed_workers << " of workers, " << killed_shards
            << " of coordinators, " << power_cuts << " of these by power cuts, in " << seeds
            << " seeds\n";

  EXPECT_GT(through_permits, seeds * 50);
  EXPECT_GT(through_slots, seeds * 50);
  EXPECT_GT(deep_taken, seeds * 100);
  EXPECT_GT(deep_full, seeds * 50);
  EXPECT_GT(closes_confirmed, seeds * 5);
  // A seed may be one without faults.
  if (seeds >= 100) {
    EXPECT_GT(killed_workers, seeds);
    EXPECT_GT(killed_shards, seeds * 10);
  }
}

} // namespace codeq::permits
