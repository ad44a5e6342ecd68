// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"

#include "coordinator/actors/coordinator_actors.hpp"
#include "http/claims/claim_run.hpp"
#include "http/server/message.hpp"
#include "http/server/outgoing.hpp"

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <utility>
#include <vector>

/// The actor interfaces of the gateway. Both of its actors are peers of the shards, like sessions.
namespace codeq::http {

/// A request was read; its exchange takes the response.
struct call_arrived {
  exchange_ptr call;
};

/// A call waits for its turn.
struct next_call {};

/// The client went away before its request was answered.
struct client_gone {
  exchange_ptr call;
};

/// A claim has ended. Nothing more will be granted to it.
struct claim_ended {
  std::uint64_t claim = 0;
  claimed_tasks how;
};

/// A claim that may wait has found no work so far.
struct claim_waits {
  std::uint64_t claim = 0;
};

/// A lease that a claim's response told of.
struct granted_lease {
  task_id task;
  fencing_token token{};
  std::string tenant;
};

[[nodiscard]] inline std::vector<granted_lease> leases_of(const std::vector<task>& tasks) {
  std::vector<granted_lease> leases;
  leases.reserve(tasks.size());
  for (const auto& one : tasks)
    leases.push_back({one.id, one.token, one.tenant});
  return leases;
}

/// The client cannot have read a response that told of these leases.
struct leases_unread {
  std::vector<granted_lease> leases;
};

/// The outcome of a delivery to a webhook.
struct webhook_answered {
  std::uint64_t number = 0;
  result<outgoing_answer> answer;
};

/// The call of a subscriber has ended.
struct wakeup_answered {
  std::uint64_t number = 0;
};

/// A frame of another coordinator of the cluster, or of the own one.
struct frame_arrived {
  protocol::wire_frame frame;
};

/// The earliest timer of the gateway is due.
struct gateway_tick {
  std::uint64_t number = 0;
};

/// Asks the gateway to answer every open request and to accept no more.
struct stop_gateway {};

/// The GATEWAY actor interface: answers requests by asking the shards.
using gateway_actor = coordinator::shard_peer_actor::extend<
  // Routes a request and answers it, at once or when the shards have answered.
  caf::reacts_to<call_arrived>,
  // Runs the route of the next call.
  caf::reacts_to<next_call>,
  // Ends the waiting of the client's request.
  caf::reacts_to<client_gone>,
  // Answers the claim's request with its tasks.
  caf::reacts_to<claim_ended>,
  // Frees the bytes that the claim had reserved.
  caf::reacts_to<claim_waits>,
  // Gives the leases back.
  caf::reacts_to<leases_unread>,
  // Closes a delivery, or schedules its retry.
  caf::reacts_to<webhook_answered>,
  // Frees the place of a subscriber's call.
  caf::reacts_to<wakeup_answered>,
  // Handles an answer of a coordinator of the cluster.
  caf::reacts_to<frame_arrived>,
  // Uses a connection to a coordinator of the cluster.
  caf::reacts_to<actors::link_up>,
  // Fails or repeats what was not answered on it.
  caf::reacts_to<actors::link_down>,
  // Follows the places of the cluster's shards.
  caf::reacts_to<actors::from_link<schema::ClusterMap>>,
  // Runs the timers that are due.
  caf::reacts_to<gateway_tick>,
  // Replies when every request was answered.
  caf::replies_to<stop_gateway>::with<bool>>;

/// Asks a claim to take its credits back and then to end: the gateway when the claim has waited
/// long enough, the claim itself when shards have had their time to ask each other.
struct end_claim {
  /// The gateway waits no longer: the claim ends without the credits that other coordinators still
  /// have; what they grant is given back.
  bool at_once = false;
};

/// A claim sends itself this, so that it looks for work once for all shards whose way has changed.
struct look_again {};

/// A claim that has ended sends itself this: tasks of a shard that has left it come no more.
struct late_tasks_over {};

/// The gateway finds a shard here, or not here any more.
struct shard_found {
  shard_id shard{};
  bool is_here = false;
};

/// The connections to the coordinators of shards have changed; null: there is none any more.
struct far_shards_found {
  std::vector<std::pair<shard_id, actors::connection_actor>> shards;
};

/// A connection to another coordinator was lost.
struct far_shards_lost {
  actors::connection_actor connection;
};

/// Another coordinator has sent something for the claim.
struct claim_news_arrived {
  protocol::claim_news news;
};

/// The CLAIM actor interface: one claim of one HTTP worker, from its first credit to its end.
using claim_actor = coordinator::shard_peer_actor::extend<
  // Revokes the claim's credits, then ends.
  caf::reacts_to<end_claim>,
  // Attaches to all shards and asks them again.
  caf::reacts_to<look_again>,
  // Ends the actor.
  caf::reacts_to<late_tasks_over>,
  // Uses the shard, or forgets what it had there.
  caf::reacts_to<shard_found>,
  // Uses the shards over these connections.
  caf::reacts_to<far_shards_found>,
  // Forgets what it had at the shards of the coordinator.
  caf::reacts_to<far_shards_lost>,
  // Handles what a shard of the coordinator has sent.
  caf::reacts_to<claim_news_arrived>>;

} // namespace codeq::http

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::call_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::next_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::client_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::claim_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::claim_waits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::leases_unread)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::webhook_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::wakeup_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::frame_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::gateway_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::stop_gateway)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::end_claim)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::look_again)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::late_tasks_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::shard_found)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::far_shards_found)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::far_shards_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::claim_news_arrived)
