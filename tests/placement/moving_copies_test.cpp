// SPDX-License-Identifier: Apache-2.0
#include "placement/moving_cluster.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace codeq::cluster::sim {

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

std::int64_t milliseconds(span length) {
  return std::chrono::duration_cast<duration>(length).count();
}

} // namespace

TEST(MovingCopies, PromisesHoldWhileCopiesMoveAndNodesFail) {
  const auto first = setting("CODEQ_SEED", 1);
  const auto seeds = std::getenv("CODEQ_SEED") ? 1 : setting("CODEQ_SIM_SEEDS", 1000);
  moving_cluster::counts all;

  for (auto seed = first; seed < first + seeds; ++seed) {
    moving_cluster cluster(seed);
    const auto violation = cluster.run();
    ASSERT_EQ(violation, "") << "CODEQ_SEED=" << seed << "\n" << cluster.story();
    const auto one = cluster.counted();
    all.acknowledged += one.acknowledged;
    all.epochs += one.epochs;
    all.asked += one.asked;
    all.stored += one.stored;
    all.forced += one.forced;
    all.added += one.added;
    all.served_after = std::max(all.served_after, one.served_after);
    all.settled_after = std::max(all.settled_after, one.settled_after);
  }

  std::cout << seeds << " seeds, " << all.acknowledged << " deltas acknowledged, " << all.epochs
            << " epochs served, " << all.added << " replicas added, " << all.asked
            << " changes ended, " << all.stored << " of them stored, " << all.forced
            << " by force; all shards served at most "
            << milliseconds(all.served_after) << " ms after the healing, settled at most "
            << milliseconds(all.settled_after) << " ms after it\n";
  EXPECT_GT(all.acknowledged, seeds * 100);
  EXPECT_GT(all.added, seeds * 5);
  EXPECT_GT(all.stored, seeds);
}

} // namespace codeq::cluster::sim
