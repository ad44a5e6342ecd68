// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "coordinator/replica/copy_messages.hpp"
#include "coordinator/replica/head_news.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "replication/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// The content of a `ReplicaFrame`.
struct replica_frame {
  /// Encoded ones, in order.
  std::vector<bytes> messages;
  std::optional<head_news> news{};
};

/// A `ReplicaFrame` of encoded messages, and of news about ready tasks if there are some.
[[nodiscard]] bytes
encode_frame(std::span<const bytes> messages, const head_news* news = nullptr);

/// Its messages share the memory of the frame. Errors: also for more messages than
/// `bounds::frame_messages`.
[[nodiscard]] result<replica_frame> decode_frame(const bytes& body);

} // namespace codeq::coordinator
