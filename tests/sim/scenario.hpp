// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "sim/timeline.hpp"

#include <cstdint>
#include <string>

namespace codeq::sim {

/// The faults of a run and their average intervals; 0: never. Workload and faults are independent
/// of each other.
struct scenario {
  std::string name;
  bool os_durability = false;
  std::uint16_t shards = 2;
  std::size_t workers = 3;
  std::size_t producers = 2;
  std::size_t requests_per_producer = 25;
  /// Duration of faults and new requests.
  virtual_time length = std::chrono::seconds(20);

  /// Interval of operator requests; these are not faults.
  virtual_time change_every = std::chrono::milliseconds(250);

  /// Without company: the coordinator carries out everything that follows from a message before it
  /// takes the next one, as its loop does while there is little to do. Otherwise other messages
  /// come in between.
  bool runs_to_completion = false;

  /// Producers enqueue again after most ended records have expired.
  bool comes_back_later = false;

  /// There are schedules, which operators change.
  bool has_schedules = false;

  /// Some tasks have limits.
  bool has_limits = false;

  /// No write takes longer than a few milliseconds.
  bool has_quick_disk = false;

  virtual_time cut_every{0};
  virtual_time stall_every{0};
  virtual_time worker_crash_every{0};
  virtual_time worker_pause_every{0};
  virtual_time worker_leave_every{0};
  virtual_time usurper_every{0};
  virtual_time producer_crash_every{0};
  virtual_time coordinator_kill_every{0};
  virtual_time power_cut_every{0};
  virtual_time clock_step_every{0};
  virtual_time compact_every{0};
  virtual_time full_disk_every{0};
  /// Orderly stops per thousand ends of the coordinator; the others are kills.
  std::uint64_t orderly_stops = 200;
  /// Starts of a shard, per thousand, that begin near the end of their epoch.
  std::uint64_t spent_epochs = 200;
  /// Retention of ended tasks; 0: as their producers ask for.
  duration retention{0};
  /// A faulty disk, to test the tests: it drops records under a snapshot that is not synced yet.
  bool drops_unsynced = false;
  /// Batches, per thousand, that a worker loses after they arrived.
  std::uint64_t forgotten_batches = 0;
  /// Workers, per thousand, that ignore the loss of leases.
  std::uint64_t zombies = 0;
  /// Maximum clock drift of workers.
  std::int64_t drift_permille = 0;

  /// True when there are no faults: then no lease may be lost.
  [[nodiscard]] bool is_calm() const;
};

/// Power cuts with a retention of a few seconds.
[[nodiscard]] scenario forgetful_scenario(std::uint64_t seed);

/// Tasks with limits on several shards, and kills of workers and of the coordinator.
[[nodiscard]] scenario limited_scenario(std::uint64_t seed);

/// The scenario that is run with a seed.
[[nodiscard]] scenario scenario_of(std::uint64_t seed);

/// All options in one line.
[[nodiscard]] std::string to_string(const scenario& s);

} // namespace codeq::sim
