// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_reclaim.hpp"

#include "storage/rocksdb/rocksdb_options.hpp"

#include <algorithm>
#include <limits>
#include <memory>
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

bool is_new(const rocksdb::LiveFileMetaData& file) {
  return file.level == 0;
}

/// The bytes that a rewrite of the file's range reads, and may write at most: those of all new
/// files with the level below them, or those of the older files in the range.
std::uint64_t bytes_read_for(const files& all, const rocksdb::LiveFileMetaData& file) {
  auto below = std::numeric_limits<int>::max();
  for (const auto& other : all)
    if (!is_new(other))
      below = std::min(below, other.level);
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;
  for (const auto& other : all) {
    if (is_new(other) || other.level == below)
      upper += other.size;
    if (!is_new(other) && overlap(file, other))
      lower += other.size;
  }
  return std::any_of(all.begin(), all.end(), is_new) ? std::max(upper, lower) : lower;
}

/// The bytes of the pairs in the keys of the files, but not much more than `most`.
std::uint64_t live_bytes_of(rocksdb::DB& db, const files& all, std::uint64_t most) {
  auto first = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.smallestkey < b.smallestkey;
  });
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(how));
  std::uint64_t bytes = 0;
  for (at->Seek(first->smallestkey); at->Valid() && bytes <= most; at->Next())
    bytes += at->key().size() + at->value().size();
  // An unreadable pair is found by those who need it; here it only means that the size is unknown.
  return at->status().ok() ? bytes : std::numeric_limits<std::uint64_t>::max();
}

/// True when a rewrite of the file's range surely needs no more than `room`. What it writes is not
/// more than what it reads, nor than what is left in the store.
bool has_room(
  rocksdb::DB& db, const files& all, const rocksdb::LiveFileMetaData& file, std::uint64_t room) {
  return bytes_read_for(all, file) <= room || live_bytes_of(db, all, room) <= room;
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
    if (!has_room(db, now, *file, room())) {
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
