// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/frame_message.hpp"
#include "core/command.hpp"
#include "security/principal.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

/// What passes between a session and the shards.
namespace codeq::actors {

/// A frame that a session checked and passes on to the shard it names.
template <class S>
struct from_peer {
  core::peer_id peer = 0;
  protocol::frame<S> message;
  /// Whose it is; null when everybody may do everything.
  std::shared_ptr<const security::principal> sender{};
};

// From shards and reader to sessions.

/// Leased tasks on their way to a worker.
struct tasks_for_peer {
  shard_id shard{};
  std::uint32_t count = 0;
  bool redelivered = false;
  /// Whether more is ready there; empty when the shard has said so itself, before this.
  std::optional<bool> more;
  protocol::wire_frame frame;
};

/// The answer to an enqueue request.
struct enqueue_done {
  std::uint64_t number = 0;
  protocol::wire_frame frame;
};

/// Nothing more is ready at the shard for this worker; its credits wait there.
struct shard_drained {
  shard_id shard{};
};

/// Work is ready at the shard for this worker.
struct shard_has_work {
  shard_id shard{};
};

struct credits_returned {
  shard_id shard{};
  std::uint32_t credits = 0;
};

/// A message of the peer broke the protocol; the connection has to go.
struct peer_misbehaved {
  error reason;
};

/// Queues that a shard knows and has not told of yet; at the beginning of a session all of them,
/// also when there are none.
struct queues_added {
  shard_id shard{};
  std::vector<queue_address> queues;
};

/// The QUEUE WATCHER actor interface: learns of every queue there is.
using queue_watcher_actor = caf::typed_actor<
  // Takes queues that somebody named for the first time.
  caf::reacts_to<queues_added>>;

/// Sent to a session when its end is decided elsewhere: tells the peer, then closes.
struct end_session {
  error reason;
};

} // namespace codeq::actors

namespace caf {

template <class S>
struct allowed_unsafe_message_type<codeq::actors::from_peer<S>> : std::true_type {};

} // namespace caf

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::tasks_for_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::enqueue_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::shard_drained)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::shard_has_work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::queues_added)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::credits_returned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::peer_misbehaved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::end_session)
