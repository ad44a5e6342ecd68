// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/rocksdb/log_check.hpp"
#include "storage/task_store.hpp"

#include <rocksdb/status.h>
#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

/// Code shared by opening a store to serve it and opening it for inspection.
namespace codeq::storage {

/// The error for a store that cannot be opened. @pre `status` is not OK
[[nodiscard]] error
to_open_error(const rocksdb::Status& status, const std::filesystem::path& directory);

/// Whether the directory has tables or logs of a store whose file CURRENT is missing. RocksDB would
/// create a new store there, and remove the tables.
[[nodiscard]] bool has_only_parts(const std::filesystem::path& directory);

/// Passes the replayed records to `log_continuity`.
class replay_filter final : public rocksdb::WalFilter {
public:
  /// In `sync` mode a gap is damage; in `os` mode it is the end of the log.
  replay_filter(const std::filesystem::path& directory, durability mode)
    : continuity_(directory), mode_(mode) {}

  const char* Name() const override { return "codeq_replay_filter"; }

  void ColumnFamilyLogNumberMap(
    const std::map<std::uint32_t, std::uint64_t>& oldest_logs,
    const std::map<std::string, std::uint32_t>&) override;

  WalProcessingOption LogRecordFound(
    unsigned long long log,
    const std::string&,
    const rocksdb::WriteBatch& batch,
    rocksdb::WriteBatch*,
    bool*) override;

  [[nodiscard]] bool found_gap() const { return continuity_.found_gap(); }

private:
  log_continuity continuity_;
  durability mode_;
};

} // namespace codeq::storage
