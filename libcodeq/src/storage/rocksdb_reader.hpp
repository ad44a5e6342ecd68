// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rocksdb {
class DB;
}

namespace codeq::storage {

/// How an open RocksDB is read; the functions are those of `task_store`. Thread-safe.
class rocksdb_reader {
public:
  /// @pre `db` outlives this
  explicit rocksdb_reader(rocksdb::DB& db) : db_(db) {}

  [[nodiscard]] result<std::optional<std::string>> read(std::string_view key) const;

  [[nodiscard]] result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) const;

  [[nodiscard]] result<std::optional<std::pair<std::string, std::string>>>
  read_last(std::string_view begin, std::string_view end) const;

  [[nodiscard]] std::uint64_t approximate_bytes(std::string_view begin, std::string_view end) const;

private:
  rocksdb::DB& db_;
};

} // namespace codeq::storage
