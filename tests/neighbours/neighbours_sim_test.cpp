// SPDX-License-Identifier: Apache-2.0
#include "neighbours/world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace codeq::neighbours {

namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

} // namespace

TEST(NeighbourSimulation, FollowUpsAreAddedOnceUnderEveryScenario) {
  const auto first = number("CODEQ_SEED", 1);
  const auto seeds = std::getenv("CODEQ_SEED") ? 1 : number("CODEQ_SIM_SEEDS", 400);
  std::size_t acknowledged = 0;
  std::size_t certain = 0;

  for (auto seed = first; seed < first + seeds; ++seed) {
    world run(seed);
    const auto violation = run.run();
    ASSERT_EQ(violation, "") << "CODEQ_SEED=" << seed;
    acknowledged += run.acknowledged();
    certain += run.certain();
  }

  std::cout << seeds << " seeds, " << acknowledged << " follow-ups acknowledged, of which "
            << certain << " may not be lost\n";
  EXPECT_GT(certain, seeds * 50);
}

TEST(NeighbourSimulation, SettingsOfShard0ReachAllShardsUnderEveryScenario) {
  const auto first = number("CODEQ_SEED", 1);
  const auto seeds = std::getenv("CODEQ_SEED") ? 1 : number("CODEQ_SIM_SEEDS", 200);

  for (auto seed = first; seed < first + seeds; ++seed)
    ASSERT_EQ(world(seed, true).run(), "") << "CODEQ_SEED=" << seed;
}

TEST(NeighbourSimulation, NothingIsHandedOverDuringAHoldUnderEveryScenario) {
  const auto first = number("CODEQ_SEED", 1);
  const auto seeds = std::getenv("CODEQ_SEED") ? 1 : number("CODEQ_SIM_SEEDS", 100);

  for (auto seed = first; seed < first + seeds; ++seed)
    ASSERT_EQ(world(seed).run_held(), "") << "CODEQ_SEED=" << seed;
}

} // namespace codeq::neighbours
