// SPDX-License-Identifier: Apache-2.0
#include "placement/large_cluster.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace codeq::cluster::sim {
namespace {

using namespace std::chrono_literals;

/// The defects of etcd, each now and then.
test::etcd_faults all_faults() {
  test::etcd_faults faults;
  faults.lost_requests = 20;
  faults.lost_answers = 20;
  faults.unknown = 2;
  faults.stale_reads = 50;
  faults.false_keep_alives = 500;
  faults.early_ends = 50;
  faults.lost_changes = 20;
  faults.late_changes = 50;
  faults.doubled_changes = 50;
  faults.rewound_changes = 50;
  return faults;
}

std::int64_t milliseconds(span length) {
  return std::chrono::duration_cast<duration>(length).count();
}

/// One rack of ten is lost; every shard acknowledges again within 5 s of virtual time.
void lose_a_rack(std::uint64_t seed, const test::etcd_faults& faults) {
  large_cluster_options options;
  options.seed = seed;
  options.faults = faults;
  large_cluster cluster(options);
  const auto label = "CODEQ_SEED=" + std::to_string(seed);
  const auto started = cluster.run_until_served(0s, 20s);
  ASSERT_TRUE(started) << label << ": not every shard is served after the start";
  cluster.run(5s);
  const auto steady = cluster.etcd().counted().writes;
  cluster.run(10s);
  const auto before = cluster.etcd().counted();
  const auto rack = seed % options.racks;
  const auto primaries = cluster.primaries_in(rack);

  cluster.lose_rack(rack);
  const auto lost = cluster.now();
  const auto served = cluster.run_until_served(lost, 5s);

  const auto after = cluster.etcd().counted();
  ASSERT_TRUE(served) << label << ": a shard is not served 5 s after the loss of a rack";
  cluster.run(10s);
  EXPECT_EQ(cluster.violation(), "") << label;
  EXPECT_LE(cluster.controllers(), 2u) << label;
  EXPECT_GT(primaries, 50u) << label;
  std::cout << label << ": " << options.shards << " shards on " << options.racks << " x "
            << options.nodes_per_rack << " coordinators, " << primaries
            << " primaries lost, all served after " << milliseconds(*served)
            << " ms; etcd writes: " << static_cast<double>(before.writes - steady) / 10
            << " a second before, " << after.writes - before.writes << " (and "
            << after.refused - before.refused << " refused) until then, "
            << cluster.etcd().counted().writes - after.writes << " in the 10 s after; "
            << cluster.acknowledged() << " deltas acknowledged\n";
}

std::uint64_t seed_or(std::uint64_t otherwise) {
  const char* given = std::getenv("CODEQ_SEED");
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

TEST(LargeCluster, ServesAllShardsAgainWithin5SecondsOfTheLossOfARack) {
  lose_a_rack(seed_or(1), {});
}

TEST(LargeCluster, ServesAllShardsAgainThoughEtcdMisbehaves) {
  lose_a_rack(seed_or(2), all_faults());
}

} // namespace
} // namespace codeq::cluster::sim
