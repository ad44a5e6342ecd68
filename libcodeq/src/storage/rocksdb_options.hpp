// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/rocksdb_store.hpp"

#include <rocksdb/options.h>
#include <rocksdb/status.h>

/// How RocksDB is set up for tasks; for `rocksdb_store.cpp` only.
namespace codeq::storage {

/// The one place where RocksDB's words become ours. @pre `status` is not OK.
[[nodiscard]] error to_error(const rocksdb::Status& status);

/// RocksDB's options for a store; all but the filter of its log.
[[nodiscard]] rocksdb::Options make_options(const rocksdb_store_options& options);

} // namespace codeq::storage
