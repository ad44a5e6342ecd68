// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/task_store.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace codeq::storage {

/// Removals of a shard's data, key by key, before a copy. Ranges are not removed as such: RocksDB
/// would give the hints of our memory tables to a list of its own.
class shard_sweep {
public:
  /// Sees the keys of this moment. @pre `store` outlives the sweep
  shard_sweep(const task_store& store, shard_id shard)
    : view_(store.view()), ranges_(data_of(shard)) {}

  /// The next removals, at most so many; none at the end. Errors: of the store.
  [[nodiscard]] result<write_set> next(std::size_t keys_max);

private:
  std::unique_ptr<store_view> view_;
  std::vector<key_range> ranges_;
  std::size_t range_ = 0;
};

} // namespace codeq::storage
