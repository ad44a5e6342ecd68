// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/keyspace.hpp"

/// One more key of `keyspace.hpp`, where there is no room for it.
namespace codeq::storage {

/// The checkpoint of a live task, for its next attempt.
struct checkpoint_key {
  shard_id shard{};
  sequence seq = 0;

  friend auto operator<=>(const checkpoint_key&, const checkpoint_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<checkpoint_key> decode(std::string_view bytes);
};

[[nodiscard]] key_range checkpoints_of(shard_id shard);

} // namespace codeq::storage
