// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rocksdb {
class Env;
}

namespace codeq::storage {

struct rocksdb_store_options {
  /// The data directory; created when missing, locked against a second process.
  std::filesystem::path directory;
  /// Determines the recovery mode: `sync` refuses to open a log with a hole; `os` opens up to the
  /// last consistent point and reports the loss.
  durability mode = durability::sync;
  /// Memory for RocksDB's write buffers, in bytes; also the size that a start may have to replay.
  std::size_t write_buffer_bytes = 18u << 20;
  /// Memory for RocksDB's block cache, in bytes.
  std::size_t block_cache_bytes = 8u << 20;
  /// Decides which records may be dropped; null: none.
  std::shared_ptr<retention_horizons> horizons{};
  /// The file system to use, for fault injection; null: the real one.
  rocksdb::Env* environment = nullptr;
  /// Called with background errors, on RocksDB's threads; the caller must stop the process.
  std::function<void(const error&)> on_background_error;
  /// Called with damage that a read finds, on the thread that reads, before the read returns it.
  /// Empty: it is only returned.
  std::function<void(const error&)> on_damage{};
  /// Called before `open_rocksdb_store` returns, with a description of what an `os` store may have
  /// lost; not called after an orderly end.
  std::function<void(std::string_view)> on_recovery;
};

/// Opens or creates the store in `directory`. Errors: `unavailable` (not a writable directory,
/// or another process has the store open), `incompatible_store` (in another format), `corruption`
/// (damage is refused, never skipped), `io_error`.
[[nodiscard]] result<std::unique_ptr<task_store>>
open_rocksdb_store(const rocksdb_store_options& options);

} // namespace codeq::storage
