// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "observe/queue_series.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

/// The names and values of all metrics.
namespace codeq::observe {

/// Counters of a process that do not belong to a shard.
struct process_counts {
  std::int64_t http_connections = 0;
  std::uint64_t http_connections_refused = 0;
  /// Number of responses, keyed by the first digit of the status: "2xx".
  std::map<std::string, std::uint64_t> http_answers;
  /// Number of times that each limit between tenants and peers was reached, keyed by its name.
  std::map<std::string, std::uint64_t> limits_met;
  /// Bytes of enqueues, checkpoints and changes that are not durable yet.
  std::uint64_t enqueue_bytes = 0;
  /// Number of look-ups that wait for the store.
  std::uint64_t lookups_waiting = 0;
  /// How often this coordinator was made the primary of a shard by force.
  std::uint64_t shards_forced = 0;
  /// Empty for a coordinator that is alone.
  std::optional<bool> etcd_answers{};
  /// Number of records of ended tasks that had to make room.
  std::uint64_t records_evicted = 0;
  /// Size of the file that reserves space on the disk.
  std::uint64_t disk_reserve_bytes = 0;
  /// Empty when it is unknown.
  std::optional<std::uint64_t> disk_free_bytes{};
  /// Empty when there is no backup.
  std::optional<double> backup_age_seconds{};
  std::uint64_t backups_failed = 0;
  std::uint64_t journal_groups = 0;
  std::uint64_t journal_parts = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_microseconds = 0;
  std::uint64_t store_stall_microseconds = 0;
  /// Counters of the store, by the names that it uses.
  std::map<std::string, std::uint64_t> store;
};

/// Maximum number of queues with metrics of their own.
inline constexpr std::size_t metric_queues_max = 100;

/// All metrics in the Prometheus text format. `series` chooses the queues.
[[nodiscard]] std::string metrics_text(
  const base::coordinator_counts& stats, const process_counts& process, queue_series& series);

} // namespace codeq::observe
