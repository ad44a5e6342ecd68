// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "sim/timeline.hpp"

#include <cstdint>
#include <string>

namespace codeq::sim {

/// Which faults happen in a run, and how often on average; 0 is never. Workload and faults know
/// nothing of each other.
struct scenario {
  std::string name;
  bool os_durability = false;
  std::uint16_t shards = 2;
  std::size_t workers = 3;
  std::size_t producers = 2;
  std::size_t requests_per_producer = 25;
  /// How long faults and new requests come.
  virtual_time length = std::chrono::seconds(20);

  /// What operators do is no fault.
  virtual_time change_every = std::chrono::milliseconds(250);

  /// Whether producers come back when the time of most ended records is over.
  bool comes_back_later = false;

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
  /// In a thousand kills of the coordinator so many are stops in good order.
  std::uint64_t orderly_stops = 200;
  /// In a thousand starts of a shard so many are near the end of its epoch.
  std::uint64_t spent_epochs = 200;
  /// How long ended tasks are known; 0 is as long as their producers want.
  duration retention{0};
  /// A disk that is wrong on purpose: drops what only an unsynced snapshot allows to.
  bool drops_unsynced = false;
  /// In a thousand batches a worker loses so many of them between its connection and its memory.
  std::uint64_t forgotten_batches = 0;
  /// So many of a thousand workers ignore that they lost leases.
  std::uint64_t zombies = 0;
  /// Workers' clocks run wrong by up to this.
  std::int64_t drift_permille = 0;

  /// True when nothing goes wrong: then no lease may be lost.
  [[nodiscard]] bool is_calm() const;
};

/// Power cuts while ended tasks are forgotten after a second or so.
[[nodiscard]] scenario forgetful_scenario(std::uint64_t seed);

/// The scenario that belongs to a seed.
[[nodiscard]] scenario scenario_of(std::uint64_t seed);

/// All options in one line.
[[nodiscard]] std::string to_string(const scenario& s);

} // namespace codeq::sim
