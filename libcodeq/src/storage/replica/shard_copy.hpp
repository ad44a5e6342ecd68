// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "replication/epoch_index.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/task_store.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::storage {

/// The sender of a copy: reads all data of a shard as they are at one moment, in parts of a bounded
/// size. Its history is that of the same moment, so that the deltas after it complete the copy.
class shard_copy {
public:
  /// Errors: of the store, `corruption`.
  [[nodiscard]] static result<shard_copy> begin(const task_store& store, shard_id shard);

  [[nodiscard]] const replication::epoch_index& log() const { return log_; }

  /// The next part, packed: at most `bytes_max`, or one record; empty at the end. Errors: of the
  /// store.
  [[nodiscard]] result<std::string> next(std::size_t bytes_max);

private:
  shard_copy(std::unique_ptr<store_view> view, shard_id shard, replication::epoch_index log);

  std::unique_ptr<store_view> view_;
  replication::epoch_index log_;
  /// Ranges to be read; the first one begins with the next key.
  std::vector<key_range> ranges_;
  std::size_t range_ = 0;
};

} // namespace codeq::storage
