// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace rocksdb {
class DB;
}

namespace codeq::storage {

/// `task_store::back_up` of an open RocksDB.
[[nodiscard]] result<backup_report>
add_backup(rocksdb::DB& db, const backup_order& order, backup_progress& progress);

/// The backups in `directory`, oldest first. Errors: `unavailable` (no such directory),
/// `io_error`, `corruption`.
[[nodiscard]] result<std::vector<backup_report>>
find_backups(const std::filesystem::path& directory);

/// Copies a backup, the newest when `number` is 0, to `target`, which is created or must be empty,
/// and checks every file. The copy is the store with its old identity: it must not be served.
/// Errors: `unavailable` (no such backup), `io_error`, `corruption`.
[[nodiscard]] result<backup_report> fetch_backup(
  const std::filesystem::path& directory,
  std::uint32_t number,
  const std::filesystem::path& target);

} // namespace codeq::storage
