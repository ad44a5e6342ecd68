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
  /// Decides the recovery mode: `sync` refuses to open over a hole in the log, `os` opens to the
  /// last whole point and says what is missing.
  durability mode = durability::sync;
  /// For RocksDB's write buffers, in bytes. A start may have to replay as much.
  std::size_t write_buffer_bytes = 18u << 20;
  /// For RocksDB's block cache, in bytes.
  std::size_t block_cache_bytes = 8u << 20;
  /// Says what has passed its retention; null keeps everything.
  std::shared_ptr<retention_horizons> horizons{};
  /// The file system underneath; null is the real one. For fault injection.
  rocksdb::Env* environment = nullptr;
  /// Told of background errors, from RocksDB's threads; the caller must stop the process.
  std::function<void(const error&)> on_background_error;
  /// Told in words, before `open_rocksdb_store` returns, what an `os` store may have lost; not
  /// called after an orderly end.
  std::function<void(std::string_view)> on_recovery;
};

/// Opens or creates the store in `directory`. Errors: `unavailable` (not a writable directory),
/// `incompatible_store` (locked by another process, written by another format), `corruption`
/// (refused rather than skipped), `io_error`.
[[nodiscard]] result<std::unique_ptr<task_store>>
open_rocksdb_store(const rocksdb_store_options& options);

} // namespace codeq::storage
