// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

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

namespace codeq::storage {

/// When a commit may be acknowledged.
enum class durability : std::uint8_t {
  /// When it is on the disk: survives a killed process and a power cut.
  sync,
  /// When the kernel has it: survives a killed process; a power cut may cost what was written since
  /// the last `sync_log`, always a suffix.
  os,
};

/// One backup among those in a directory.
struct backup_report {
  /// From 1, ascending.
  std::uint32_t number = 0;
  /// Of all its files, those included that it shares with earlier ones.
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;
};

/// Returns false when it has seen enough.
using pair_visitor = std::function<bool(std::string_view key, std::string_view value)>;

/// Returns false when it has seen enough; `place` is that of the key among those asked for.
using value_visitor = std::function<bool(std::size_t place, std::string_view value)>;

/// An ordered key-value store with atomic, durable batches; all shards of a coordinator share one.
/// `commit` is called by the journal's thread only; everything else by any thread.
class task_store {
public:
  virtual ~task_store() = default;

  // Modifiers.

  /// Applies all sets as one atomic batch, in order, and returns when the batch is durable as
  /// `mode` says. Any error is final: the caller stops the process, since the batch may or may not
  /// be found after a restart. Errors: `io_error`, `corruption`.
  [[nodiscard]] virtual result<void>
  commit(std::span<const std::shared_ptr<const write_set>> sets, durability mode) = 0;

  /// Brings every commit that returned before the call to the disk, while others go on. Any thread.
  /// Errors: as `commit`.
  [[nodiscard]] virtual result<void> sync_log() = 0;

  // Readers.

  /// The value under `key`, or nothing. Sees every commit that returned. Errors: `io_error`,
  /// `corruption` (a checksum that does not match is never skipped).
  [[nodiscard]] virtual result<std::optional<std::string>> read(std::string_view key) const = 0;

  /// Whether something may be under `key`, told from memory alone. False is certain, as of every
  /// commit that returned; true is not.
  [[nodiscard]] virtual bool may_have(std::string_view key) const = 0;

  /// Calls `visit(place, value)` for each of `keys` that is there, in their order, until it returns
  /// false. Keys that are neighbours cost less than reading each. @pre the keys ascend. Errors: as
  /// `read`.
  [[nodiscard]] virtual result<void>
  read_many(std::span<const std::string> keys, const value_visitor& visit) const = 0;

  /// Calls `visit(key, value)` for each pair in [begin, end), ascending, until it returns false.
  /// Sees one point in time. Errors: as `read`.
  [[nodiscard]] virtual result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) const = 0;

  /// The pair with the greatest key in [begin, end), or nothing. Errors: as `read`.
  [[nodiscard]] virtual result<std::optional<std::pair<std::string, std::string>>>
  read_last(std::string_view begin, std::string_view end) const = 0;

  // Lifecycle.

  /// Rewrites the pairs in [begin, end) and leaves out what may be dropped; takes its time. Returns
  /// early, without an error, when `cancelled` becomes true. Any thread. Errors: as `read`.
  [[nodiscard]] virtual result<void>
  compact(std::string_view begin, std::string_view end, std::atomic<bool>& cancelled) = 0;

  /// Adds a backup to those in `directory`, of everything that was committed before the call, and
  /// reads it back; copies only what they lack, and keeps the newest `kept` of them. Takes its
  /// time, while commits go on, and ends soon with `going_away` when `cancelled` becomes true. One
  /// at a time, any thread. Errors: `unavailable` for a store that cannot be backed up, `io_error`,
  /// `corruption` of what was copied. None harms the store.
  [[nodiscard]] virtual result<backup_report> back_up(
    const std::filesystem::path& directory, std::uint32_t kept, std::atomic<bool>& cancelled) {
    static_cast<void>(kept);
    static_cast<void>(cancelled);
    return error{errc::unavailable, "this store cannot be backed up to " + directory.string()};
  }

  /// About how much space the pairs in [begin, end) take, in bytes. Any thread. Errors: as `read`.
  [[nodiscard]] virtual result<std::uint64_t>
  approximate_bytes(std::string_view begin, std::string_view end) const = 0;

  /// Counts since the store was opened, by name; for statistics and benchmarks.
  [[nodiscard]] virtual std::uint64_t counter(std::string_view name) const = 0;
};

} // namespace codeq::storage
