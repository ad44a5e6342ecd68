// SPDX-License-Identifier: Apache-2.0
#include "mutation/active_fault.hpp"
#include "mutation/hunt.hpp"
#include "neighbours/world.hpp"

#include <gtest/gtest.h>

namespace codeq::neighbours {

/// A fault has to be caught by its own seed or within the first `seeds_max` seeds.
constexpr std::uint64_t seeds_max = 1000;

TEST(NeighbourFaults, EachIsCaughtAndNothingElse) {
  ASSERT_GT(mutation::count_hunted(), 0u) << "CODEQ_FAULT is in no name of a fault";
  const auto verdicts = mutation::hunt_all(seeds_max, [](std::uint64_t seed) {
    if (seed % 4 == 1)
      return world(seed).run_held();
    const auto with_settings = seed % 4 == 0;
    return world(seed, with_settings).run();
  });
  mutation::print(verdicts);

  for (std::size_t fault = 0; fault < verdicts.size(); ++fault)
    EXPECT_EQ(verdicts[fault].caught, fault != 0)
      << mutation::fault_names[fault] << ": " << verdicts[fault].words;
}

} // namespace codeq::neighbours
