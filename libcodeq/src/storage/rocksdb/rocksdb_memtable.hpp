// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

/// RocksDB's memory tables; for the `rocksdb_*` files only.
namespace codeq::storage {

/// Makes memory tables for one writer and keys that ascend per prefix, which take fewer comparisons
/// for such a key than those of RocksDB.
[[nodiscard]] std::shared_ptr<rocksdb::MemTableRepFactory> make_memtable_factory();

} // namespace codeq::storage
