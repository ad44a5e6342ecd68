// SPDX-License-Identifier: Apache-2.0
#include "routing/routed_worker.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// The promise: a slot is idle for at most this time while a task waits for it.
constexpr duration idle_max{50};

using direction = routed_worker::direction;

routed_worker::options random_options(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  routed_worker::options options;
  options.seed = seed;
  options.nodes = 1 + random() % 5;
  options.shards = static_cast<std::uint16_t>(options.nodes + random() % 8);
  options.slots = 1 + random() % 12;
  options.prefetch = random() % 3 == 0 ? 0 : random() % 12;
  return options;
}

enum class faults { none, moves, moves_and_slow_links };

/// Adds bursts of tasks to random shards, with pauses in which the worker becomes idle.
void load(routed_worker& worker, const routed_worker::options& options, faults kind) {
  const auto with_faults = kind != faults::none;
  std::mt19937_64 random(options.seed + 1);
  const auto bursts = kind == faults::moves_and_slow_links ? 200 : 60;
  for (int burst = 0; burst < bursts; ++burst) {
    const auto shard = static_cast<std::uint16_t>(random() % options.shards);
    const auto tasks =
      static_cast<std::uint32_t>(random() % 4 == 0 ? random() % 200 : 1 + random() % 5);
    if (tasks > 0)
      worker.enqueue(shard, tasks);
    if (with_faults && random() % 2 == 0)
      worker.move(
        static_cast<std::uint16_t>(random() % options.shards),
        random() % options.nodes,
        duration{static_cast<std::int64_t>(random() % 300)});
    if (with_faults && random() % 5 == 0)
      worker.cut(random() % options.nodes);
    if (kind == faults::moves_and_slow_links && random() % 2 == 0)
      worker.hold_up(
        random() % options.nodes,
        random() % 2 == 0 ? direction::to_coordinator : direction::to_worker,
        duration{static_cast<std::int64_t>(random() % 5'000)});
    worker.run_for(duration{static_cast<std::int64_t>(random() % 150)}, !with_faults);
  }
}

/// Lets all tasks end: as long as they take in the slots, and a while for what was lost.
void finish(routed_worker& worker, const routed_worker::options& options, bool watches_slots) {
  const auto work = static_cast<std::int64_t>(worker.enqueued()) * options.run_max.count();
  worker.run_for(duration{work / static_cast<std::int64_t>(options.slots)} + 10s, watches_slots);
}

TEST(WorkerOfACluster, NoSlotIdlesWhileAnyCoordinatorHasATask) {
  const auto first = choose_seed();
  for (auto seed = first; seed < first + 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    const auto options = random_options(seed);
    routed_worker worker(options);
    // The links to the other coordinators are made.
    worker.run_for(100ms, false);

    load(worker, options, faults::none);
    finish(worker, options, true);

    EXPECT_LE(worker.longest_idle(), idle_max);
    EXPECT_LE(worker.most_held(), options.slots + options.prefetch);
    EXPECT_EQ(worker.completed(), worker.enqueued()) << worker.describe();
  }
}

/// With that many seeds, each task is completed once, and no lease starts twice.
void check_faults(faults kind, std::uint64_t seeds) {
  const auto first = choose_seed();
  for (auto seed = first; seed < first + seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    const auto options = random_options(seed);
    routed_worker worker(options);

    load(worker, options, kind);
    finish(worker, options, false);

    EXPECT_EQ(worker.completed(), worker.enqueued()) << worker.describe();
    EXPECT_EQ(worker.doubled(), 0u) << worker.describe();
  }
}

TEST(WorkerOfACluster, CompletesEachTaskOnceWhileShardsMove) {
  check_faults(faults::moves, 40);
}

// Without the epoch of a list of leases, seed 128 starts one twice.
TEST(WorkerOfACluster, StartsEachLeaseOnceThoughMessagesComeLate) {
  check_faults(faults::moves_and_slow_links, 200);
}

TEST(WorkerOfOneCoordinator, IsToldNeitherPlacesNorCredits) {
  routed_worker::options options;
  options.nodes = 0;
  routed_worker worker(options);
  for (std::uint16_t shard = 0; shard < options.shards; ++shard)
    worker.enqueue(shard, 100);

  worker.run_for(10s, true);

  EXPECT_EQ(worker.completed(), worker.enqueued());
  EXPECT_GT(worker.frames_of<schema::TaskBatch>(), 0u);
  EXPECT_EQ(worker.frames_of<schema::ClusterMap>(), 0u);
  EXPECT_EQ(worker.frames_of<schema::CreditNews>(), 0u);
}

} // namespace
} // namespace codeq::test
