// SPDX-License-Identifier: Apache-2.0
#include "mutation/active_fault.hpp"
#include "mutation/hunt.hpp"
#include "sim/cluster.hpp"

#include <gtest/gtest.h>

namespace codeq::mutation {
namespace {

/// A fault has to be caught by its own seed or within the first `seeds_max` seeds.
constexpr std::uint64_t seeds_max = 600;

TEST(MutationList, EveryDeliberateFaultIsCaughtAndNothingElse) {
  ASSERT_GT(count_hunted(), 0u) << "CODEQ_FAULT is in no name of a fault";
  auto verdicts = hunt_all(seeds_max, [](std::uint64_t seed) {
    return sim::cluster(seed, sim::scenario_of(seed)).run().breach;
  });
  print(verdicts);

  for (std::size_t fault = 0; fault < verdicts.size(); ++fault)
    EXPECT_EQ(verdicts[fault].caught, fault != 0)
      << fault_names[fault] << ": " << verdicts[fault].words;
}

} // namespace
} // namespace codeq::mutation
