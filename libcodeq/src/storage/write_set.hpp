// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::storage {

/// The writes of one turn of one shard: an ordered list of puts and deletes, applied atomically. A
/// key is written once in its life, unless `keyspace.hpp` says that its kind is overwritten.
class write_set {
public:
  enum class kind : unsigned char { put, remove, single_remove };

  struct operation {
    kind what;
    std::string key;
    std::string value;
  };

  void put(std::string key, std::string value) {
    bytes_ += key.size() + value.size();
    operations_.push_back({kind::put, std::move(key), std::move(value)});
  }

  /// Deletes a key that may have been put any number of times.
  void remove(std::string key) {
    bytes_ += key.size();
    operations_.push_back({kind::remove, std::move(key), {}});
  }

  /// Deletes a key that was put exactly once since it was last deleted; leaves no tombstone when
  /// put and delete meet in a flush.
  void single_remove(std::string key) {
    bytes_ += key.size();
    operations_.push_back({kind::single_remove, std::move(key), {}});
  }

  [[nodiscard]] const std::vector<operation>& operations() const noexcept { return operations_; }

  /// Size of all keys and values, in bytes.
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_; }

  [[nodiscard]] bool empty() const noexcept { return operations_.empty(); }

private:
  std::vector<operation> operations_;
  std::size_t bytes_ = 0;
};

} // namespace codeq::storage
