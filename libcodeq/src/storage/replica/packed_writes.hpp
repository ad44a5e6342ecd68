// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "replication/messages.hpp"
#include "storage/records/replica_codec.hpp"
#include "storage/write_set.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace codeq::storage {

/// The body of a delta: its packed bytes, which others are sent, and, until it is written, the
/// writes.
class packed_writes final : public replication::delta_body {
public:
  packed_writes(
    std::shared_ptr<const std::string> packed,
    std::shared_ptr<const write_set> writes,
    bool is_synced = false)
    : packed_(std::move(packed)), writes_(std::move(writes)), is_synced_(is_synced) {}

  explicit packed_writes(std::shared_ptr<const write_set> writes, bool is_synced = false)
    : packed_(std::make_shared<const std::string>(pack(*writes))),
      writes_(std::move(writes)),
      is_synced_(is_synced) {}

  [[nodiscard]] std::size_t byte_size() const override { return packed_->size(); }

  [[nodiscard]] const std::string& packed() const { return *packed_; }

  /// Null when they were left out.
  [[nodiscard]] const std::shared_ptr<const write_set>& writes() const { return writes_; }

  /// Every replica syncs its log before it confirms them, in both durability modes.
  [[nodiscard]] bool is_synced() const noexcept { return is_synced_; }

  [[nodiscard]] std::shared_ptr<const packed_writes> without_writes() const {
    return std::make_shared<const packed_writes>(packed_, nullptr, is_synced_);
  }

private:
  std::shared_ptr<const std::string> packed_;
  std::shared_ptr<const write_set> writes_;
  bool is_synced_ = false;
};

/// The body that replication handles as opaque. @pre it is one of these, or null
[[nodiscard]] inline const packed_writes* packed_of(const replication::entry& e) {
  return static_cast<const packed_writes*>(e.body.get());
}

/// The bytes of a delta, for a message or a file.
[[nodiscard]] std::string encode(shard_id shard, const replication::entry& e);

/// Reads a delta of that shard, with its writes. Errors: `corruption`, also when it is of another
/// shard.
[[nodiscard]] result<replication::entry> decode_entry(shard_id shard, std::string_view bytes);

} // namespace codeq::storage
