// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rocksdb {
class DB;
}

namespace codeq::storage {

/// Called with damage that a read has found, on the thread that reads. Empty: the read only
/// returns it.
using damage_listener = std::function<void(const error&)>;

/// Reads from an open RocksDB; the common base of the stores that use it. Thread-safe.
class rocksdb_reader : public task_store {
public:
  /// @pre nothing is read after `db` was destroyed
  explicit rocksdb_reader(rocksdb::DB& db, damage_listener on_damage = {})
    : db_(db), on_damage_(std::move(on_damage)) {}

  [[nodiscard]] result<std::optional<std::string>> read(std::string_view key) const final;
  [[nodiscard]] bool may_have(std::string_view key) const final;
  [[nodiscard]] result<void>
  read_many(std::span<const std::string> keys, const value_visitor& visit) const final;
  [[nodiscard]] result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) const final;
  [[nodiscard]] std::unique_ptr<store_view> view() const final;
  [[nodiscard]] result<std::optional<std::pair<std::string, std::string>>>
  read_last(std::string_view begin, std::string_view end) const final;
  [[nodiscard]] result<std::uint64_t>
  approximate_bytes(std::string_view begin, std::string_view end) const final;

private:
  rocksdb::DB& db_;
  damage_listener on_damage_;
};

} // namespace codeq::storage
