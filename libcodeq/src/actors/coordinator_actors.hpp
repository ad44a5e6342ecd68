// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "actors/actors.hpp"
#include "actors/session_messages.hpp"
#include "actors/shard_neighbours.hpp"
#include "core/effect.hpp"
#include "protocol/messages.hpp"

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// The actor interfaces of the coordinator; a part of `actors.hpp` that worker and client need not
/// see.
namespace codeq::actors {

/// The SESSION actor interface: one connected node after its hello.
using session_actor = caf::typed_actor<
  // Adds tasks: passed on to the shard that the producer chose.
  caf::reacts_to<protocol::enqueue_request>,
  // Adds credits; the claim router decides where they wait.
  caf::reacts_to<protocol::claim_request>,
  // Extends leases of one shard.
  caf::reacts_to<protocol::heartbeat_request>,
  // Ends leases of one shard.
  caf::reacts_to<protocol::result_request>,
  // Compares holdings after a reconnect.
  caf::reacts_to<protocol::resume_request>,
  // Asks to be told when tasks end.
  caf::reacts_to<protocol::await_request>,
  // Describes one task.
  caf::reacts_to<protocol::status_request>,
  // Changes one task: cancel, promote, redrive, purge.
  caf::reacts_to<protocol::change_request>,
  // Ends a lease or a task by an operator's will.
  caf::reacts_to<protocol::force_request>,
  // Shows, sets, pauses or resumes one shard's part of a queue.
  caf::reacts_to<protocol::queue_request>,
  // Changes many tasks of one shard.
  caf::reacts_to<protocol::bulk_request>,
  // Lists tasks of one shard.
  caf::reacts_to<protocol::list_request>,
  // Says why a task does not run.
  caf::reacts_to<protocol::explain_request>,
  // Tells a task's timeline.
  caf::reacts_to<protocol::events_request>,
  // Sums up all shards.
  caf::reacts_to<protocol::stats_request>,
  // Begins a backup or says how the latest one is.
  caf::reacts_to<protocol::backup_request>,
  // Ends in order: leases are given back.
  caf::reacts_to<protocol::goodbye>,
  // Sends a frame to the peer.
  caf::reacts_to<protocol::wire_frame>,
  // Sends tasks to the peer and counts the credits they use.
  caf::reacts_to<tasks_for_peer>,
  // Sends the answer to an enqueue and frees its place in the window.
  caf::reacts_to<enqueue_done>,
  // Leaves the credits where they are.
  caf::reacts_to<shard_drained>,
  // Moves credits to the shard.
  caf::reacts_to<shard_has_work>,
  // Has credits to place again.
  caf::reacts_to<credits_returned>,
  // Closes a connection whose peer broke the protocol.
  caf::reacts_to<peer_misbehaved>,
  // Stops or resumes claiming for a peer that reads slowly.
  caf::reacts_to<outgoing_pressure>,
  // The connection is gone: so is the session.
  caf::reacts_to<connection_lost>,
  // Tells the peer why and closes.
  caf::reacts_to<end_session>>;

// From sessions and registrar to shards.

/// A session begins; `worker` is null for producers and operators.
struct attach_session {
  core::peer_id peer = 0;
  session_actor session;
  std::shared_ptr<const worker_identity> worker;
  std::vector<queue_address> queues;
  /// Null when everybody may do everything.
  std::shared_ptr<const security::principal> bearer{};
  /// Null does not want to know of queues.
  queue_watcher_actor watcher{};
};

struct detach_session {
  core::peer_id peer = 0;
};

struct add_credits {
  core::peer_id peer = 0;
  std::uint32_t credits = 0;
  duration lease{0};
};

struct take_credits {
  core::peer_id peer = 0;
  std::uint32_t credits = 0;
};

/// A worker takes tasks of these queues only from here on.
struct change_worker_queues {
  core::peer_id peer = 0;
  std::vector<queue_address> queues;
};

/// A worker's leases end: given back, or, when a new incarnation `worker` replaced it, lost.
struct end_leases {
  std::shared_ptr<const worker_identity> worker;
  bool replaced = false;
};

struct ask_shard_stats {};

/// Asks a shard to commit what it has and to take no more.
struct stop_shard {};

/// The SHARD actor interface. Owns the tasks of one shard; the single writer of its keys.
using shard_actor = caf::typed_actor<
  // Adds tasks; answered once they are durable. Refusals: out of bounds, session_expired.
  caf::reacts_to<from_peer<schema::EnqueueRequest>>,
  // Extends leases; each is decided by its token.
  caf::reacts_to<from_peer<schema::HeartbeatRequest>>,
  // Ends leases; idempotent for the same token.
  caf::reacts_to<from_peer<schema::ResultRequest>>,
  // Compares a worker's holdings with the leases here.
  caf::reacts_to<from_peer<schema::ResumeRequest>>,
  // Tells the peer when tasks end.
  caf::reacts_to<from_peer<schema::AwaitRequest>>,
  // Begins a session here.
  caf::reacts_to<attach_session>,
  // Forgets a session and its credits; leases run on.
  caf::reacts_to<detach_session>,
  // Leases up to that many ready tasks, now or as they come.
  caf::reacts_to<add_credits>,
  // Gives unused credits back.
  caf::reacts_to<take_credits>,
  // Leases tasks of other queues from here on.
  caf::reacts_to<change_worker_queues>,
  // Ends the leases of a worker.
  caf::reacts_to<end_leases>,
  // Describes a task.
  caf::reacts_to<from_peer<schema::StatusRequest>>,
  // Changes a task for an operator.
  caf::reacts_to<from_peer<schema::ChangeRequest>>,
  // Ends a lease or a task by an operator's will.
  caf::reacts_to<from_peer<schema::ForceRequest>>,
  // Shows, sets, pauses or resumes the shard's part of a queue.
  caf::reacts_to<from_peer<schema::QueueRequest>>,
  // Changes many tasks.
  caf::reacts_to<from_peer<schema::BulkRequest>>,
  // Lists tasks.
  caf::reacts_to<from_peer<schema::ListRequest>>,
  // Says why a task does not run.
  caf::reacts_to<from_peer<schema::ExplainRequest>>,
  // Tells a task's timeline.
  caf::reacts_to<from_peer<schema::EventsRequest>>,
  // Counts tasks and timers.
  caf::replies_to<ask_shard_stats>::with<coordinator_stats>,
  // Commits and answers when all of it is durable.
  caf::replies_to<stop_shard>::with<bool>>;

/// A lease's timer fired: a hint, checked against token and deadline.
struct lease_timeout {
  sequence seq = 0;
  fencing_token token{};
};

/// Everything up to this number of the shard's commits is durable.
struct batch_committed {
  std::uint64_t number = 0;
};

/// The store is in a new epoch: numbers go on from there.
struct epoch_raised {
  std::uint32_t epoch = 0;
};

/// Closes the turn after everything that was queued before it.
struct close_turn {};

/// Time has passed for something; stale unless it is the one that was armed last.
struct wake_shard {
  std::uint64_t number = 0;
};

/// What the SHARD understands inside its own process. Never handed out.
using shard_internal_actor = shard_actor::extend<
  // Adds follow-ups of another shard.
  caf::reacts_to<hand_over>,
  // Another shard has its follow-ups.
  caf::reacts_to<handed_over>,
  // Learns who the other shards are; what they are to get waits for it.
  caf::reacts_to<meet_shards>,
  // Ends the lease if its time is really over.
  caf::reacts_to<lease_timeout>,
  // Releases what waited for the commit.
  caf::reacts_to<batch_committed>,
  // Takes numbers of the new epoch as soon as no turn is open.
  caf::reacts_to<epoch_raised>,
  // Seals the turn.
  caf::reacts_to<close_turn>,
  // Moves due tasks and fires timers.
  caf::reacts_to<wake_shard>>;

/// Wakes a lease's timer at its deadline.
struct lease_due {};

/// The LEASE TIMER actor interface: one per lease that is old enough; decides nothing.
using lease_timer_actor = caf::typed_actor<
  // Reports the timeout to its shard.
  caf::reacts_to<lease_due>>;

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator_stats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::attach_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::detach_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::add_credits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::take_credits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::change_worker_queues)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::end_leases)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::ask_shard_stats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::stop_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::lease_timeout)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::batch_committed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::epoch_raised)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::close_turn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::wake_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::lease_due)
