// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_counts.hpp"

#include "observe/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace codeq::node {

namespace {

/// Counters of the store since it was opened, by the store's names.
std::map<std::string, std::uint64_t> counters_of(const storage::task_store& store) {
  std::map<std::string, std::uint64_t> counters;
  for (const char* name :
       {"keys_written",
        "bytes_written",
        "keys_read",
        "wal_synced",
        "wal_bytes",
        "flush_bytes",
        "compaction_bytes"})
    counters[name] = store.counter(name);
  return counters;
}

/// Time since the newest backup in the directory was made; empty when there is none. Reads the
/// directory's list of backups.
std::optional<double> backup_age_seconds(const std::filesystem::path& directory) {
  using std::filesystem::directory_iterator;
  std::optional<std::filesystem::file_time_type> newest;
  std::error_code why;
  // RocksDB writes a file with the number of the backup once the backup is whole.
  for (directory_iterator at(directory / "meta", why), end; !why && at != end; at.increment(why)) {
    auto name = at->path().filename().string();
    bool is_whole = name.find_first_not_of("0123456789") == std::string::npos;
    auto made = at->last_write_time(why);
    if (is_whole && !why)
      newest = std::max(newest.value_or(made), made);
  }
  if (!newest)
    return std::nullopt;
  auto age = std::filesystem::file_time_type::clock::now() - *newest;
  return std::max(std::chrono::duration<double>(age).count(), 0.0);
}

/// The counters of the gateway, the journal and the store.
observe::process_counts traffic_of(const measured_parts& parts) {
  observe::process_counts counts;
  const auto& gateway = *parts.gateway;
  counts.http_connections = gateway.connections;
  counts.http_connections_refused = gateway.refused_connections;
  for (std::size_t i = 2; i < std::size(gateway.answers); ++i)
    counts.http_answers[std::to_string(i) + "xx"] = gateway.answers[i];
  const auto& journal = *parts.journal;
  counts.journal_groups = journal.groups;
  counts.journal_parts = journal.parts;
  counts.journal_bytes = journal.bytes;
  counts.journal_microseconds = journal.microseconds;
  counts.store_stall_microseconds = parts.store->counter("stall_micros");
  counts.store = counters_of(*parts.store);
  return counts;
}

observe::process_counts counts_of(const measured_parts& parts) {
  auto counts = traffic_of(parts);
  counts.limits_met = parts.limits->counts();
  counts.enqueue_bytes = parts.enqueues->used();
  counts.lookups_waiting = parts.lookups->load();
  if (parts.places) {
    counts.shards_forced = parts.places->forced();
    counts.etcd_answers = parts.places->etcd_answers();
  }
  counts.records_evicted = parts.horizons->evicted();
  counts.disk_reserve_bytes = parts.reserve->held();
  if (auto usable = parts.reserve->usable())
    counts.disk_free_bytes = *usable;
  if (!parts.backup_directory.empty())
    counts.backup_age_seconds = backup_age_seconds(parts.backup_directory);
  counts.backups_failed = parts.backups->failures();
  return counts;
}

} // namespace

std::map<std::string, std::int64_t> store_gauges(
  const storage::task_store& store,
  const storage::retention_horizons& horizons,
  const coordinator::disk_reserve& reserve) {
  std::map<std::string, std::int64_t> gauges;
  for (const auto& [name, count] : counters_of(store))
    gauges["codeq_store_" + name + "_total"] = static_cast<std::int64_t>(count);
  gauges["codeq_records_evicted_total"] = static_cast<std::int64_t>(horizons.evicted());
  gauges["codeq_disk_reserve_bytes"] = static_cast<std::int64_t>(reserve.held());
  return gauges;
}

std::function<std::string(const base::coordinator_counts&)> metrics_of(measured_parts parts) {
  auto series = std::make_shared<observe::queue_series>(observe::metric_queues_max);
  return [parts = std::move(parts), series](const base::coordinator_counts& stats) {
    return observe::metrics_text(stats, counts_of(parts), *series);
  };
}

} // namespace codeq::node
