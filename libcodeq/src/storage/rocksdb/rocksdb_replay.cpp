// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_replay.hpp"

#include "storage/rocksdb/rocksdb_options.hpp"

#include <rocksdb/write_batch.h>

#include <system_error>

namespace codeq::storage {

error to_open_error(const rocksdb::Status& status, const std::filesystem::path& directory) {
  auto translated = to_error(status);
  if (status.IsIOError()) {
    // RocksDB has no code for a lock that is held, only these two texts.
    auto text = status.ToString();
    if (
      text.find("While lock file") != std::string::npos
      || text.find("lock hold by current process") != std::string::npos)
      return {
        errc::unavailable,
        "the store in " + directory.string()
          + " is in use: a coordinator or another codeqctl has it open and holds the lock on "
          + (directory / "LOCK").string() + "; stop that one first"};
  }
  translated.context = "cannot open the store in " + directory.string() + ": " + translated.context;
  return translated;
}

bool has_only_parts(const std::filesystem::path& directory) {
  std::error_code failure;
  if (std::filesystem::exists(directory / "CURRENT", failure))
    return false;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    // RocksDB's files have numbers as names; another program's log may have any other.
    const auto name = entry.path().stem().string();
    const auto kind = entry.path().extension();
    bool is_numbered = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_numbered && (kind == ".log" || kind == ".sst"))
      return true;
  }
  return false;
}

void replay_filter::ColumnFamilyLogNumberMap(
  const std::map<std::uint32_t, std::uint64_t>& oldest_logs,
  const std::map<std::string, std::uint32_t>&) {
  continuity_.begin(oldest_logs.empty() ? 0 : oldest_logs.begin()->second);
}

rocksdb::WalFilter::WalProcessingOption replay_filter::LogRecordFound(
  unsigned long long log,
  const std::string&,
  const rocksdb::WriteBatch& batch,
  rocksdb::WriteBatch*,
  bool*) {
  if (continuity_.follows(log, batch.Data()))
    return WalProcessingOption::kContinueProcessing;
  return mode_ == durability::sync ? WalProcessingOption::kCorruptedRecord
                                   : WalProcessingOption::kStopReplay;
}

} // namespace codeq::storage
