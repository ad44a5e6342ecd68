// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Work on a store that no coordinator has open.
namespace codeq {

struct verify_options {
  /// The data directory of a coordinator.
  std::filesystem::path directory;
  /// As the coordinator is started with: without `sync` the log may have lost its end.
  bool sync = true;
  /// How many findings are told in words; the others are counted.
  std::size_t findings_max = 100;
};

/// What is in a store, and what is wrong with it.
struct store_report {
  std::uint64_t store_id = 0;
  std::uint32_t format = 0;
  /// Of the latest start.
  std::uint32_t epoch = 0;
  /// How many records there are, by kind, for each shard.
  std::map<shard_id, std::map<std::string, std::uint64_t>> records;
  /// What must not be, each with the key of its record.
  std::vector<std::string> findings;
  /// All findings, those included that are not told.
  std::uint64_t findings_count = 0;
  /// What is worth knowing and not wrong.
  std::vector<std::string> notes;
};

/// Checks every invariant that can be checked on the disk, and every checksum; changes nothing.
/// Takes as long as reading the store does, and as much memory as a coordinator that has it open.
/// Errors: what keeps it from being opened: `unavailable` (no store there), `incompatible_store`
/// (a coordinator has it open, a newer format), `corruption`, `io_error`.
[[nodiscard]] result<store_report> verify_store(const verify_options& options);

struct restore_options {
  /// Where a coordinator put its backups.
  std::filesystem::path backups;
  /// Which of them; 0 is the newest.
  std::uint32_t number = 0;
  /// The new data directory: missing or empty.
  std::filesystem::path directory;
};

/// What was restored.
struct restored_store {
  /// Of the backup.
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  /// A new one, so that nobody takes the store for the one that was backed up.
  std::uint64_t store_id = 0;
  /// Beyond every epoch that the backed-up store can have come to.
  std::uint32_t epoch = 0;
  store_report report;
};

/// Makes a data directory of a backup, with an identity of its own, and verifies it. The directory
/// appears as a whole or not at all. Errors: `invalid_argument` (the directory is not empty),
/// `unavailable` (no such backup), `corruption` (also when verifying found anything), `io_error`,
/// `incompatible_store` (a newer format; epochs ran out).
[[nodiscard]] result<restored_store> restore_store(const restore_options& options);

} // namespace codeq
