// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "storage/write_set.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::storage {

/// When a commit may be acknowledged.
enum class durability : std::uint8_t {
  /// When it is on disk: it survives a killed process and a power cut.
  sync,
  /// When the kernel has it: it survives a killed process; a power cut may lose the writes since
  /// the last `sync_log`, always a suffix of them.
  os,
};

/// One backup of those in a directory.
struct backup_report {
  /// Starts at 1 and ascends.
  std::uint32_t number = 0;
  /// Size of all its files, including those that it shares with earlier backups.
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;
  /// When it was made, in wall-clock time.
  timestamp at{};
  /// The backup of a cluster that it is a part of; 0: none.
  std::uint64_t run = 0;
};

/// A backup that is to be made.
struct backup_order {
  std::filesystem::path directory;
  /// Number of backups to keep.
  std::uint32_t kept = 0;
  /// The backup of a cluster that it is a part of; 0: none.
  std::uint64_t run = 0;
};

/// What other threads see and say of a backup while it is made.
struct backup_progress {
  std::atomic<bool> is_cancelled{false};
  /// Commits from now on are not in the backup.
  std::atomic<bool> is_fixed{false};
};

/// Returns false to end the scan.
using pair_visitor = std::function<bool(std::string_view key, std::string_view value)>;

/// Returns false to end the visit; `place` is the index of the key.
using value_visitor = std::function<bool(std::size_t place, std::string_view value)>;

/// A store at one point in time, read in parts. Keeps what it sees from being freed, so it should
/// not live long. Used by one thread at a time; must not outlive the store.
class store_view {
public:
  virtual ~store_view() = default;

  /// As `task_store::scan`, at the time of the view.
  [[nodiscard]] virtual result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) = 0;
};

/// An ordered key-value store with atomic, durable batches; all shards of a coordinator share one.
/// `commit` is called only by the journal's thread, all other functions by any thread.
class task_store {
public:
  virtual ~task_store() = default;

  // Modifiers.

  /// Applies all sets as one atomic batch, in order, and returns when the batch is durable as
  /// `mode` says. Every error is final: the caller stops the process, since the batch may or may
  /// not be found after a restart. Errors: `io_error`, `corruption`.
  [[nodiscard]] virtual result<void>
  commit(std::span<const std::shared_ptr<const write_set>> sets, durability mode) = 0;

  /// Syncs every commit that returned before the call, while other commits go on. Thread-safe.
  /// Errors: as `commit`.
  [[nodiscard]] virtual result<void> sync_log() = 0;

  // Readers.

  /// The value under `key`; empty when there is none. Sees every commit that has returned. Errors:
  /// `io_error`, `corruption` (a wrong checksum is never skipped).
  [[nodiscard]] virtual result<std::optional<std::string>> read(std::string_view key) const = 0;

  /// True when there may be a value under `key`, decided from memory alone. False is certain, as of
  /// every commit that has returned; true is not.
  [[nodiscard]] virtual bool may_have(std::string_view key) const = 0;

  /// Calls `visit(place, value)` for each of `keys` that exists, in order, until it returns false.
  /// Adjacent keys cost less than separate reads. @pre the keys ascend. Errors: as `read`.
  [[nodiscard]] virtual result<void>
  read_many(std::span<const std::string> keys, const value_visitor& visit) const = 0;

  /// Calls `visit(key, value)` for each pair in [begin, end), in ascending order, until it returns
  /// false. Sees one point in time. Errors: as `read`.
  [[nodiscard]] virtual result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) const = 0;

  /// A view of the present, with every commit that has returned. Thread-safe.
  [[nodiscard]] virtual std::unique_ptr<store_view> view() const = 0;

  /// The pair with the greatest key in [begin, end); empty when there is none. Errors: as `read`.
  [[nodiscard]] virtual result<std::optional<std::pair<std::string, std::string>>>
  read_last(std::string_view begin, std::string_view end) const = 0;

  // Lifecycle.

  /// Rewrites the pairs in [begin, end) without those that may be dropped; may take long. Returns
  /// early, without an error, when `cancelled` becomes true. Thread-safe. Errors: as `read`.
  [[nodiscard]] virtual result<void>
  compact(std::string_view begin, std::string_view end, std::atomic<bool>& cancelled) = 0;

  /// Frees the space of deleted pairs by rewriting files one after the other. A file is left out
  /// while `room()`, the bytes that the rewrite may need meanwhile, is too small for it. Returns
  /// the bytes of files that were left out. May take long; returns early when `cancelled` is set.
  /// Thread-safe. Errors: as `read`.
  [[nodiscard]] virtual result<std::uint64_t>
  reclaim(const std::function<std::uint64_t()>& room, std::atomic<bool>& cancelled) {
    static_cast<void>(room);
    static_cast<void>(cancelled);
    return std::uint64_t{0};
  }

  /// Adds a backup of everything that was committed before the call to those in its directory, and
  /// checks it. Copies only files that are not there, and keeps the newest ones. May take long,
  /// while commits go on, and ends soon with `going_away` when it is cancelled. One call at a time,
  /// from any thread. Errors: `unavailable` for a store that cannot be backed up,
  /// `io_error`, `corruption` of the copy. Errors do not affect the store.
  [[nodiscard]] virtual result<backup_report>
  back_up(const backup_order& order, backup_progress& progress) {
    static_cast<void>(progress);
    return error{
      errc::unavailable, "this store cannot be backed up to " + order.directory.string()};
  }

  /// The backups in `directory`, oldest first. Thread-safe. Errors: `unavailable` (no such
  /// directory), `io_error`, `corruption`.
  [[nodiscard]] virtual result<std::vector<backup_report>>
  list_backups(const std::filesystem::path& directory) const {
    static_cast<void>(directory);
    return std::vector<backup_report>{};
  }

  /// Approximate size of the pairs in [begin, end), in bytes. Thread-safe. Errors: as `read`.
  [[nodiscard]] virtual result<std::uint64_t>
  approximate_bytes(std::string_view begin, std::string_view end) const = 0;

  /// A counter since the store was opened, by name; for statistics and benchmarks.
  [[nodiscard]] virtual std::uint64_t counter(std::string_view name) const = 0;
};

} // namespace codeq::storage
