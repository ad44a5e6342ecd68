// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <atomic>
#include <memory>

/// Configuration of RocksDB; for the `rocksdb_*` files only.
namespace codeq::storage {

/// Converts RocksDB's status; no other code does. @pre `status` is not OK
[[nodiscard]] error to_error(const rocksdb::Status& status);

/// The open store, for the filter in its own options; null until it is open. Until then no record
/// is dropped.
using store_access = std::atomic<const rocksdb_reader*>;

/// RocksDB's options for a store, except the filter of its log.
[[nodiscard]] rocksdb::Options make_options(
  const rocksdb_store_options& options, const std::shared_ptr<const store_access>& access);

} // namespace codeq::storage
