// SPDX-License-Identifier: Apache-2.0
#include "mutation/active_fault.hpp"
#include "mutation/hunt.hpp"
#include "placement/moving_cluster.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster::sim {

/// A fault has to be caught by its own seed or within the first `seeds_max` seeds.
constexpr std::uint64_t seeds_max = 2500;

TEST(MovingCopiesFaults, EachIsCaughtAndNothingElse) {
  ASSERT_GT(mutation::count_hunted(), 0u) << "CODEQ_FAULT is in no name of a fault";
  const auto verdicts =
    mutation::hunt_all(seeds_max, [](std::uint64_t seed) { return moving_cluster(seed).run(); });
  mutation::print(verdicts);

  for (std::size_t fault = 0; fault < verdicts.size(); ++fault)
    EXPECT_EQ(verdicts[fault].caught, fault != 0)
      << mutation::fault_names[fault] << ": " << verdicts[fault].words;
}

} // namespace codeq::cluster::sim
