// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/shard_copy.hpp"

#include "storage/records/replica_codec.hpp"
#include "storage/replica/replica_store.hpp"

#include <utility>

namespace codeq::storage {

shard_copy::shard_copy(
  std::unique_ptr<store_view> view, shard_id shard, replication::epoch_index log)
  : view_(std::move(view)), log_(std::move(log)), ranges_(data_of(shard)) {
}

result<shard_copy> shard_copy::begin(const task_store& store, shard_id shard) {
  auto view = store.view();
  auto log = read_history(*view, shard);
  if (!log)
    return log.error();
  return shard_copy(std::move(view), shard, std::move(*log));
}

result<std::string> shard_copy::next(std::size_t bytes_max) {
  write_set part;
  for (; range_ < ranges_.size(); ++range_) {
    auto& range = ranges_[range_];
    bool is_full = false;
    auto scanned = view_->scan(range.begin, range.end, [&](auto key, auto value) {
      is_full = !part.empty() && part.byte_size() + key.size() + value.size() > bytes_max;
      if (is_full)
        range.begin = std::string(key);
      else
        part.put(std::string(key), std::string(value));
      return !is_full;
    });
    if (!scanned)
      return scanned.error();
    if (is_full)
      break;
  }
  return pack(part);
}

} // namespace codeq::storage
