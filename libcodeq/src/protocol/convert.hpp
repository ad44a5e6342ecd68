// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/commands/effect.hpp"
#include "protocol/messages.hpp"

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

/// Converts messages of peers to commands of the shard core, and checks every bound; no other file
/// does. Errors: `protocol_error` when the message is malformed or names a shard that does not
/// exist (the connection is then closed); any other code when the request is well-formed but out of
/// bounds (it is then refused, and the context names field, value and limit).
namespace codeq::protocol {

/// The shard of that number, if there are so many.
[[nodiscard]] result<shard_id> checked_shard(std::uint64_t number, std::size_t shard_count);

/// The shard that a message is for. @pre S has a field `shard`
template <class S>
[[nodiscard]] result<shard_id> shard_of(const frame<S>& message, std::size_t shard_count) {
  return message.read(
    [&](auto reader) { return checked_shard(reader.getShard(), shard_count); });
}

/// The shard that handles a message.
struct shard_place {
  shard_id shard{};
  /// Number of shards of the store.
  std::uint16_t shard_count = 1;
};

/// Checks that a task with that group or key belongs to `place`. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_place(
  const queue_address& queue, std::string_view group, std::string_view key, shard_place place);

/// The number of a request, which its refusal needs.
[[nodiscard]] result<std::uint64_t> number_of(const enqueue_request& message);

/// 0: the heartbeat wants no reply, or cannot be read.
[[nodiscard]] std::uint64_t number_of(const heartbeat_request& message);

/// The epoch of the shard's place that a worker knows; 0: it names none, or the request cannot be
/// read.
[[nodiscard]] std::uint32_t epoch_of(const resume_request& message);

/// The fields of an enqueue request that a session needs.
struct enqueue_outline {
  std::uint64_t number = 0;
  producer_id producer;
  shard_id shard{};
  std::uint64_t tasks = 0;
};

[[nodiscard]] result<enqueue_outline>
outline_of(const enqueue_request& message, std::size_t shard_count);

/// The producer session that the sender has finished; zero: none.
[[nodiscard]] result<producer_id> finished_session_of(const goodbye& message);

/// Delays count from the shard time `now`. The tasks' bodies share the message's buffer.
[[nodiscard]] result<core::enqueue>
to_command(const enqueue_request& message, core::peer_id peer, timestamp now, shard_place place);
[[nodiscard]] result<core::heartbeat>
to_command(const heartbeat_request& message, core::peer_id peer);

/// A heartbeat in two parts.
struct split_heartbeat {
  heartbeat_request without_checkpoints;
  shard_id shard{};
  /// Which checkpoints it has.
  std::vector<core::saved_checkpoint> checkpoints{};
};

/// Takes the checkpoints, for which there is no room, out of a heartbeat.
[[nodiscard]] result<split_heartbeat> split(const heartbeat_request& message);

/// A report that is out of bounds contains its refusal. Delays of follow-ups count from `now`.
[[nodiscard]] result<core::report>
to_command(const result_request& message, core::peer_id peer, timestamp now, shard_place place);
[[nodiscard]] result<core::resume> to_command(
  const resume_request& message,
  core::peer_id peer,
  const std::shared_ptr<const worker_identity>& worker);
[[nodiscard]] result<std::variant<core::await_tasks, core::stop_awaiting>>
to_command(const await_request& message, core::peer_id peer);

/// Content of a worker's claim request.
struct claim_wish {
  std::uint32_t credits = 0;
  /// Zero: the task's own lease.
  duration lease{0};
  /// Maximum number of tasks in one message; zero: the coordinator's limit.
  std::uint32_t batch_tasks = 0;
  /// Unused credits to return.
  std::uint32_t take_back = 0;
  /// See `core::claim`; empty: no change.
  std::optional<bool> reaches_all{};
  /// The queues to claim from, from now on; empty: no change.
  std::optional<std::vector<queue_address>> queues{};
  /// With `queues`; see `core::change_queues`.
  std::vector<queue_address> prefixes{};
  std::vector<queue_address> without{};
};

[[nodiscard]] result<claim_wish> read_claim(const claim_request& message);

/// Content of a node's hello.
struct node_introduction {
  schema::Role role = schema::Role::PRODUCER;
  worker_identity identity;
  std::uint16_t min_version = 0;
  std::uint16_t max_version = 0;
  /// Queues that a worker handles.
  std::vector<queue_address> queues;
  /// See `core::attach_worker`.
  std::vector<queue_address> prefixes{};
  /// It follows the places of a cluster's shards.
  bool takes_map = false;
  /// Empty when the node has none. Must never be logged.
  std::string token{};
  /// Name of a coordinator's cluster.
  std::string cluster{};
  /// A coordinator's connection is for copies of shards.
  bool carries_copies = false;
};

[[nodiscard]] result<node_introduction> to_introduction(const hello& message);

} // namespace codeq::protocol
