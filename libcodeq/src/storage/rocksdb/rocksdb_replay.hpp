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

/// What opening a store has in common, to serve it and to look at it.
namespace codeq::storage {

/// Why a store cannot be opened. @pre `status` is not OK.
[[nodiscard]] error
to_open_error(const rocksdb::Status& status, const std::filesystem::path& directory);

/// Lets `log_continuity` see what is replayed.
class replay_filter final : public rocksdb::WalFilter {
public:
  /// `sync` takes a gap for damage, `os` for the end.
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
