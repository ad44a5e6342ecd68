// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/time.hpp"

#include "base/cluster_shard_counts.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// The counts of shards and coordinators: those that operators read, and those for the metrics and
/// the gateway.
namespace codeq::base {

/// Histogram of durations.
struct time_counts {
  /// Upper bounds of the buckets; the last bucket has none.
  static constexpr std::array<std::int64_t, 13> bounds_ms{
    1, 2, 5, 10, 25, 50, 100, 250, 1000, 5000, 30'000, 300'000, 3'600'000};

  std::array<std::uint64_t, bounds_ms.size() + 1> counts{};
  std::int64_t sum_ms = 0;

  void add(duration took, std::uint64_t times = 1);
  void add(const time_counts& other);

  /// The mean, rounded down; empty when nothing was counted.
  [[nodiscard]] std::optional<duration> mean() const;
};

/// Counts of one queue.
struct queue_counts : queue_stats {
  // Since the start of the process.
  std::uint64_t enqueued = 0;
  std::uint64_t granted = 0;
  /// Attempts that failed, of tasks that were not dead then.
  std::uint64_t retried = 0;
  /// Attempts that ended uncharged.
  std::uint64_t returned = 0;
  /// Attempts that ran over `run_timeout` or `progress_timeout`.
  std::uint64_t timed_out = 0;
  /// Tasks that died by the queue's `quarantine_after`.
  std::uint64_t quarantined = 0;
  /// Pauses by the queue's breaker, once for each shard that decided so.
  std::uint64_t tripped = 0;
  std::uint64_t redriven = 0;
  /// As in `coordinator_counts`.
  time_counts dispatch{};
  time_counts run{};
};

/// A connected worker, or a disconnected one that still has leases. Its queues and leases are
/// filled in only when they were asked for.
struct worker_counts : worker_info {
  /// Tenants of the queues that it claims from.
  std::set<std::string> tenants{};
};

/// Counts of a shard, or their sum over the shards of a coordinator.
struct coordinator_counts {
  std::vector<queue_counts> queues;
  /// Keyed by metric name, for example `codeq_lease_timers`.
  std::map<std::string, std::int64_t> gauges;
  std::vector<worker_counts> workers{};
  /// Enqueues that were refused since the start, keyed by the name of the error.
  std::map<std::string, std::uint64_t> refused{};
  /// Time from a task's enqueue to its first grant.
  time_counts dispatch{};
  /// Time from a grant to the report that ended the lease.
  time_counts run{};
  /// Number of shards whose counts these are.
  std::uint32_t shards = 0;
  /// In a cluster, for the metrics alone: its shards as this coordinator knows them, by number.
  std::vector<cluster_shard_counts> cluster_shards{};
};

} // namespace codeq::base
