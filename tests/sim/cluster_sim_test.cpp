// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <ios>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::sim {
namespace {

constexpr std::uint64_t seeds_default = 600;
constexpr std::uint64_t forgetful_seeds = 50;
constexpr std::uint64_t limited_seeds = 30;
constexpr std::uint64_t limited_kills_min = 2'000;

run_report run_seed(std::uint64_t seed) {
  return cluster(seed, scenario_of(seed)).run();
}

/// A number from an environment variable.
std::optional<std::uint64_t> number_of(const char* variable) {
  const char* given = std::getenv(variable);
  if (!given)
    return std::nullopt;
  return std::strtoull(given, nullptr, 10);
}

void print(std::uint64_t seeds, const run_totals& t) {
  std::cout << "seeds=" << seeds << " tasks=" << t.tasks << " deliveries=" << t.deliveries
            << " redeliveries=" << t.redeliveries << " lost_leases=" << t.lost_leases
            << " kills=" << t.kills << " power_cuts=" << t.power_cuts
            << " worker_crashes=" << t.worker_crashes << " producer_crashes=" << t.producer_crashes
            << " connection_cuts=" << t.connection_cuts << " changes=" << t.changes
            << " grouped=" << t.grouped << " follow_ups=" << t.follow_ups
            << " handed_on=" << t.handed_on << " duplicates=" << t.duplicates
            << " refused=" << t.refused << " forced=" << t.forced << " purged=" << t.purged
            << " pauses=" << t.pauses << " ticks=" << t.ticks << '\n';
}

/// The recorded hash of each seed's trace.
std::map<std::uint64_t, std::uint64_t> recorded_traces() {
  std::map<std::uint64_t, std::uint64_t> hashes;
  std::ifstream file(CODEQ_SIM_FOLDER "/regressions/traces.txt");
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;
  while (file >> std::dec >> seed >> std::hex >> hash)
    hashes.emplace(seed, hash);
  return hashes;
}

/// Runs seeds first, first + 1, ... and stops at the first that fails. A seed with a recorded trace
/// must reproduce it: a refactoring changes no trace. A change that adds or drops a message records
/// the traces anew, into the file named by CODEQ_SIM_RECORD.
void run_seeds(std::uint64_t first, std::uint64_t count) {
  run_totals totals;
  auto recorded = recorded_traces();
  const char* record = std::getenv("CODEQ_SIM_RECORD");
  std::ofstream traces;
  if (record)
    traces.open(record);
  std::uint64_t changed = 0;
  for (auto seed = first; seed < first + count; ++seed) {
    auto report = run_seed(seed);
    totals += report.totals;
    if (!report.failure.empty())
      FAIL() << report.failure << "after " << seed - first + 1 << " seeds";
    if (record)
      traces << std::dec << seed << ' ' << std::hex << report.trace_hash << '\n';
    else if (auto known = recorded.find(seed); known != recorded.end())
      changed += known->second == report.trace_hash ? 0 : 1;
  }
  print(count, totals);
  EXPECT_EQ(changed, 0) << "seeds whose trace differs from the recorded one";
}

TEST(ClusterSimulation, ContractHoldsUnderEveryScenario) {
  auto seed = number_of("CODEQ_SEED");
  auto count = number_of("CODEQ_SIM_SEEDS").value_or(seed ? 1 : seeds_default);

  run_seeds(seed.value_or(1), count);
}

TEST(ClusterSimulation, SameSeedGivesTheSameRun) {
  // One of every scenario.
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(run_seed(seed).trace_hash, run_seed(seed).trace_hash) << seed;
}

TEST(ClusterSimulation, DroppingByASyncedSnapshotLosesNothing) {
  for (std::uint64_t seed = 1; seed <= forgetful_seeds; ++seed)
    EXPECT_EQ(cluster(seed, forgetful_scenario(seed)).run().failure, "") << seed;
}

TEST(ClusterSimulation, DroppingByAnUnsyncedSnapshotIsFound) {
  std::string found;
  for (std::uint64_t seed = 1; seed <= forgetful_seeds; ++seed) {
    auto scenario = forgetful_scenario(seed);
    scenario.drops_unsynced = true;
    found += cluster(seed, scenario).run().failure;
  }
  EXPECT_NE(found.find("I12"), std::string::npos) << "recovery misses what was dropped";
}

TEST(ClusterSimulation, LimitsHoldAndNoSlotIdlesOverKills) {
  auto first = number_of("CODEQ_SEED").value_or(1);
  run_totals totals;
  for (auto seed = first; seed < first + limited_seeds; ++seed) {
    auto report = cluster(seed, limited_scenario(seed)).run();
    ASSERT_EQ(report.failure, "") << seed;
    totals += report.totals;
  }
  print(limited_seeds, totals);
  EXPECT_GE(totals.kills + totals.worker_crashes, limited_kills_min);
}

TEST(ClusterSimulation, SeedsThatOnceFailedStayGood) {
  std::ifstream file(CODEQ_SIM_FOLDER "/regressions/seeds.txt");
  ASSERT_TRUE(file);

  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#')
      continue;
    EXPECT_EQ(run_seed(std::stoull(line)).failure, "") << line;
  }
}

} // namespace
} // namespace codeq::sim
