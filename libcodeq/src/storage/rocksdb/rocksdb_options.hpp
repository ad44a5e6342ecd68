// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <atomic>
#include <memory>

/// How RocksDB is set up for tasks; for the `rocksdb_*` files only.
namespace codeq::storage {

/// The one place where RocksDB's words become ours. @pre `status` is not OK.
[[nodiscard]] error to_error(const rocksdb::Status& status);

/// The store, for the filter that its own options hold; null until it is open. Until then nothing
/// has passed its retention.
using store_access = std::atomic<const rocksdb_reader*>;

/// RocksDB's options for a store; all but the filter of its log.
[[nodiscard]] rocksdb::Options make_options(
  const rocksdb_store_options& options, const std::shared_ptr<const store_access>& access);

} // namespace codeq::storage
