// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_reclaim.hpp"

#include "storage/rocksdb/rocksdb_options.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <rocksdb/metadata.h>

namespace codeq::storage {

namespace {

using files = std::vector<rocksdb::LiveFileMetaData>;

files files_of(rocksdb::DB& db) {
  files all;
  db.GetLiveFilesMetaData(&all);
  return all;
}

bool overlap(const rocksdb::LiveFileMetaData& a, const rocksdb::LiveFileMetaData& b) {
  return a.smallestkey <= b.largestkey && b.smallestkey <= a.largestkey;
}

/// The bytes that a rewrite of the file's range reads, and may write at most.
std::uint64_t bytes_with_neighbours(const files& all, const rocksdb::LiveFileMetaData& file) {
  std::uint64_t bytes = 0;
  for (const auto& other : all)
    if (overlap(file, other))
      bytes += other.size;
  return bytes;
}

/// The first of `planned`, from `at` on, that has not been rewritten with another one.
std::optional<rocksdb::LiveFileMetaData>
next_of(const files& planned, const files& now, std::size_t& at) {
  for (; at < planned.size(); ++at) {
    const auto& wanted = planned[at];
    auto is_it = [&](const auto& file) { return file.name == wanted.name; };
    if (std::any_of(now.begin(), now.end(), is_it))
      return planned[at++];
  }
  return std::nullopt;
}

} // namespace

result<std::uint64_t> reclaim_files(
  rocksdb::DB& db, const std::function<std::uint64_t()>& room, std::atomic<bool>& cancelled) {
  std::uint64_t memory = 0;
  db.GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &memory);
  auto planned = files_of(db);
  std::uint64_t left_out = 0;
  // Deletions that are in memory only are written first, since a rewrite does not see them there.
  if (memory > room()) {
    for (const auto& file : planned)
      left_out += file.size;
    return left_out;
  }
  if (auto status = db.Flush({}); !status.ok())
    return to_error(status);
  rocksdb::CompactRangeOptions how;
  how.exclusive_manual_compaction = false;
  how.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  how.canceled = &cancelled;
  for (std::size_t at = 0; !cancelled;) {
    auto now = files_of(db);
    auto file = next_of(planned, now, at);
    if (!file)
      break;
    if (bytes_with_neighbours(now, *file) > room()) {
      left_out += file->size;
      continue;
    }
    rocksdb::Slice first{file->smallestkey};
    rocksdb::Slice last{file->largestkey};
    auto status = db.CompactRange(how, &first, &last);
    if (!status.ok() && !status.IsIncomplete())
      return to_error(status);
  }
  return left_out;
}

} // namespace codeq::storage
