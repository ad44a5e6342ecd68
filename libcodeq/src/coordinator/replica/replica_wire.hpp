// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "coordinator/replica/copy_messages.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "replication/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

/// The bytes of messages between replicas, and between shards. Errors of decoding are
/// `protocol_error`, and `corruption` for a delta whose checksum does not fit, and for follow-ups.
namespace codeq::coordinator {

/// A message of one shard's replica to another one, or of another shard to the primary of this one.
struct shard_message {
  shard_id shard{};
  /// 0 when it is of another shard, like `to`.
  replication::replica_id from{};
  replication::replica_id to{};
  std::variant<replication::message, copy_message, neighbour_message> content;
};

/// A single `ReplicaMessage`.
[[nodiscard]] bytes encode(const shard_message& m);

/// Checks every bound, and that deltas and parts of copies write the shard's own data only.
[[nodiscard]] result<shard_message> decode_shard_message(const bytes& body);

/// A `ReplicaFrame` of encoded messages.
[[nodiscard]] bytes encode_frame(std::span<const bytes> messages);

/// The messages of a frame, in order; they share its memory. Errors: also for more messages than
/// `bounds::frame_messages`.
[[nodiscard]] result<std::vector<bytes>> decode_frame(const bytes& body);

} // namespace codeq::coordinator
