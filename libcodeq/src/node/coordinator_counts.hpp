// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "coordinator/actors/backup_runner.hpp"
#include "coordinator/actors/disk_reserve.hpp"
#include "coordinator/actors/journal_driver.hpp"
#include "coordinator/hub/served_shards.hpp"
#include "coordinator/shared/enqueue_shares.hpp"
#include "http/server/server.hpp"
#include "observe/limit_meter.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

/// Counters of a coordinator's process that do not belong to a shard.
namespace codeq::node {

/// Gauges for operators.
[[nodiscard]] std::map<std::string, std::int64_t> store_gauges(
  const storage::task_store& store,
  const storage::retention_horizons& horizons,
  const coordinator::disk_reserve& reserve);

/// The parts of a coordinator whose counters its metrics show.
struct measured_parts {
  std::shared_ptr<const storage::task_store> store;
  std::shared_ptr<const coordinator::journal_meter> journal;
  std::shared_ptr<const http::server_meter> gateway;
  std::shared_ptr<const observe::limit_meter> limits;
  std::shared_ptr<const coordinator::enqueue_shares> enqueues;
  /// Number of look-ups that wait for the reader.
  std::shared_ptr<const std::atomic<std::size_t>> lookups;
  std::shared_ptr<const storage::retention_horizons> horizons;
  std::shared_ptr<coordinator::disk_reserve> reserve;
  std::shared_ptr<const coordinator::backup_runner> backups;
  /// Empty when no backups are made.
  std::filesystem::path backup_directory;
  /// Null for a coordinator that is alone.
  std::shared_ptr<const coordinator::served_shards> places;
};

/// Writes the metrics of the process, and of the shards whose counts it gets.
[[nodiscard]] std::function<std::string(const base::coordinator_counts&)>
metrics_of(measured_parts parts);

} // namespace codeq::node
