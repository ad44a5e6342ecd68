// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/journal_driver.hpp"
#include "http/server/server.hpp"
#include "observe/metrics.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

/// Counters of a coordinator's process that do not belong to a shard.
namespace codeq::node {

/// Gauges for operators.
[[nodiscard]] std::map<std::string, std::int64_t> store_gauges(
  const storage::task_store& store,
  const storage::retention_horizons& horizons,
  const coordinator::disk_reserve& reserve);

/// Counters for the metrics.
[[nodiscard]] observe::process_counts counts_of(
  const storage::task_store& store,
  const coordinator::journal_meter& journal,
  const http::server_meter& gateway);

/// Time since the newest backup in the directory was made; empty when there is none. Reads the
/// directory's list of backups.
[[nodiscard]] std::optional<double> backup_age_seconds(const std::filesystem::path& directory);

} // namespace codeq::node
