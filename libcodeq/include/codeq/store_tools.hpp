// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Offline tools for a store that no coordinator has open.
namespace codeq {

struct verify_options {
  /// The data directory of a coordinator.
  std::filesystem::path directory{};
  /// The coordinator's durability setting: without `sync` the end of the log may be missing.
  bool sync = true;
  /// Maximum number of findings described in words; further ones are only counted.
  std::size_t findings_max = 100;
};

/// Contents of a store, and the problems found in it.
struct store_report {
  std::uint64_t store_id = 0;
  std::uint32_t format = 0;
  /// Epoch of the latest start.
  std::uint32_t epoch = 0;
  /// Number of records of each kind, per shard.
  std::map<shard_id, std::map<std::string, std::uint64_t>> records;
  /// Violated invariants, each with the key of the offending record.
  std::vector<std::string> findings;
  /// Number of all findings, including those not described.
  std::uint64_t findings_count = 0;
  /// Observations that are not errors.
  std::vector<std::string> notes;
};

/// Checks every invariant that can be checked on disk, and every checksum. Changes nothing. Takes
/// as long as reading the store, and as much memory as a coordinator that serves it. Errors, when
/// the store cannot be opened: `unavailable` (no store there), `incompatible_store` (a coordinator
/// has it open, a newer format), `corruption`, `io_error`.
[[nodiscard]] result<store_report> verify_store(const verify_options& options);

/// The backups in a coordinator's backup directory, oldest first. Errors: `unavailable` (no
/// directory), `io_error`, `corruption`.
[[nodiscard]] result<std::vector<backup_info>>
list_backups(const std::filesystem::path& directory);

struct restore_options {
  /// The coordinator's backup directory.
  std::filesystem::path backups{};
  /// Number of the backup; 0: the newest.
  std::uint32_t number = 0;
  /// The new data directory; must be missing or empty.
  std::filesystem::path directory{};
};

/// Result of `restore_store`.
struct restored_store {
  /// Number of the backup.
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  /// Id of the new store; differs from that of the store that was backed up.
  std::uint64_t store_id = 0;
  /// Greater than every epoch that the backed-up store can have reached.
  std::uint32_t epoch = 0;
  store_report report;
};

/// Creates a data directory from a backup, gives it a new store id, and verifies it. The directory
/// appears as a whole or not at all. Errors: `invalid_argument` (the directory is not empty),
/// `unavailable` (no such backup), `corruption` (also when verification found a problem),
/// `io_error`, `incompatible_store` (a newer format; epochs ran out).
[[nodiscard]] result<restored_store> restore_store(const restore_options& options);

} // namespace codeq
