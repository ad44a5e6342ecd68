// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "coordinator/actors/coordinator_actors.hpp"
#include "http/server/message.hpp"
#include "http/server/outgoing.hpp"

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <vector>

/// The actor interfaces of the gateway. Both of its actors are peers of the shards, as sessions
/// are.
namespace codeq::http {

/// A request was read; its exchange takes the answer.
struct call_arrived {
  exchange_ptr call;
};

/// The client of a request that is not answered yet went away.
struct client_gone {
  exchange_ptr call;
};

/// What a claim came to. It is over: nothing more will be granted to it.
struct claim_ended {
  std::uint64_t claim = 0;
  std::vector<task> tasks;
};

/// What became of a delivery to a webhook.
struct webhook_answered {
  std::uint64_t number = 0;
  result<outgoing_answer> answer = error{};
};

/// The earliest of the gateway's times has come.
struct gateway_tick {};

/// Asks the gateway to answer everything that is open and to take nothing more.
struct stop_gateway {};

/// The GATEWAY actor interface: answers requests by asking the shards.
using gateway_actor = coordinator::shard_peer_actor::extend<
  // Routes a request and answers it, at once or when the shards have answered.
  caf::reacts_to<call_arrived>,
  // Ends what a request waits for.
  caf::reacts_to<client_gone>,
  // Takes what a claim came to.
  caf::reacts_to<claim_ended>,
  // Ends a delivery, or has it made again.
  caf::reacts_to<webhook_answered>,
  // Runs what is due.
  caf::reacts_to<gateway_tick>,
  // Answers when every request was answered.
  caf::replies_to<stop_gateway>::with<bool>>;

/// Has a claim take tasks of these queues as well.
struct add_queues {
  std::vector<queue_address> queues;
};

/// Asks a claim to take nothing more and to end.
struct end_claim {};

/// The CLAIM actor interface: one claim of one HTTP worker, from its first credit to its end.
using claim_actor = coordinator::shard_peer_actor::extend<
  // Claims from further queues.
  caf::reacts_to<add_queues>,
  // Takes its credits back, then ends.
  caf::reacts_to<end_claim>>;

} // namespace codeq::http

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::call_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::client_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::claim_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::webhook_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::gateway_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::stop_gateway)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::add_queues)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::http::end_claim)
