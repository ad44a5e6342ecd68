// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "replication/messages.hpp"
#include "storage/records/replica_codec.hpp"
#include "storage/retention/horizon_codec.hpp"
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
  using horizon_pointer = std::shared_ptr<const shard_horizon>;

  /// `horizon`: of the snapshot that the writes contain, if there is one.
  explicit packed_writes(
    std::shared_ptr<const write_set> writes, bool is_synced = false, horizon_pointer horizon = {})
    : packed_(std::make_shared<const std::string>(pack(*writes))),
      writes_(std::move(writes)),
      is_synced_(is_synced),
      horizon_(std::move(horizon)) {}

  /// The body that `d` has. @pre `writes` are those of `d`, and `horizon` is, too
  packed_writes(delta d, std::shared_ptr<const write_set> writes, horizon_pointer horizon)
    : packed_(std::make_shared<const std::string>(std::move(d.writes))),
      packed_horizon_(std::move(d.horizon)),
      writes_(std::move(writes)),
      is_synced_(d.is_synced),
      horizon_(std::move(horizon)) {}

  [[nodiscard]] std::size_t byte_size() const override {
    return packed_->size() + packed_horizon_.size();
  }

  [[nodiscard]] const std::string& packed() const { return *packed_; }

  /// The packed horizon that the delta carries; empty: it carries none.
  [[nodiscard]] const std::string& packed_horizon() const { return packed_horizon_; }

  /// Makes the delta carry the horizon. Returns its packed size in bytes. @pre there is a horizon
  std::size_t tell_horizon() {
    packed_horizon_ = pack(*horizon_);
    return packed_horizon_.size();
  }

  /// Null when they were left out.
  [[nodiscard]] const std::shared_ptr<const write_set>& writes() const { return writes_; }

  /// The horizon that holds when the writes are synced; null: no snapshot, or it was left out.
  [[nodiscard]] const horizon_pointer& horizon() const { return horizon_; }

  /// Every replica syncs its log before it confirms them, in both durability modes.
  [[nodiscard]] bool is_synced() const noexcept { return is_synced_; }

  [[nodiscard]] std::shared_ptr<const packed_writes> without_writes() const {
    auto kept = std::make_shared<packed_writes>(*this);
    kept->writes_ = nullptr;
    kept->horizon_ = nullptr;
    return kept;
  }

private:
  std::shared_ptr<const std::string> packed_;
  std::string packed_horizon_;
  std::shared_ptr<const write_set> writes_;
  bool is_synced_ = false;
  horizon_pointer horizon_;
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
