// SPDX-License-Identifier: Apache-2.0
#include "replication/world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace codeq::replication::sim {

namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

} // namespace

TEST(ReplicationSimulation, PromisesHoldUnderEveryScenario) {
  const auto first = number("CODEQ_SEED", 1);
  const auto seeds = std::getenv("CODEQ_SEED") ? 1 : number("CODEQ_SIM_SEEDS", 1000);
  std::size_t acknowledged = 0;
  std::size_t epochs = 0;

  for (auto seed = first; seed < first + seeds; ++seed) {
    world run(seed);
    const auto violation = run.run();
    ASSERT_EQ(violation, "") << "CODEQ_SEED=" << seed << "\n" << run.story();
    acknowledged += run.audit().acknowledged().size();
    epochs += run.audit().epochs_served();
  }

  std::cout << seeds << " seeds, " << acknowledged << " deltas acknowledged, " << epochs
            << " epochs served\n";
  EXPECT_GT(acknowledged, seeds * 50);
  EXPECT_GT(epochs, seeds);
}

} // namespace codeq::replication::sim
