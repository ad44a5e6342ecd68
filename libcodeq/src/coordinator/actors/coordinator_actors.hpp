// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"

#include "actors/actors.hpp"
#include "base/coordinator_counts.hpp"
#include "coordinator/session/claim_wire.hpp"
#include "coordinator/session/session.hpp"
#include "coordinator/shard/shard_messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The actor interfaces of the coordinator, with one sentence per message: the drivers of shard,
/// session, journal, reader and registrar, and the actors that only need time or the disk.
namespace codeq::coordinator {

/// Sent to a session whose end was decided elsewhere: it notifies the peer, then closes.
struct end_session {
  error reason;
};

/// A message of the peer violated the protocol; the connection must be closed.
struct peer_misbehaved {
  error reason;
};

/// In a cluster: a shard is served by this coordinator from now on, or not any more.
struct shard_moved {
  shard_id shard{};
  bool is_here = false;
};

/// In a cluster: shards have other places now.
struct places_changed {};

/// The PEER interface: the messages that shards and the reader send to a session or to the gateway.
using shard_peer_actor = caf::typed_actor<
  // Handles a reply or a notification.
  caf::reacts_to<shard_reply>,
  // Handles leased tasks.
  caf::reacts_to<task_delivery>,
  // Handles a change of its credits.
  caf::reacts_to<credit_news>,
  // Handles queues that were named for the first time.
  caf::reacts_to<queues_added>,
  // Ends, because the peer violated the protocol.
  caf::reacts_to<peer_misbehaved>,
  // Uses a shard that came, or forgets what it had at one that left.
  caf::reacts_to<shard_moved>,
  // Tells its client where shards are now.
  caf::reacts_to<places_changed>>;

/// The token's rate allows more credits again.
struct wake_session {
  session_wake what = session_wake::held_credits;
};

/// An operator has drained the session's worker, or has taken it back.
struct drain_session {
  bool is_drained = false;
};

/// A message of the peer that is stored, with its share of the enqueue bytes.
struct stored_request {
  protocol::session_request request;
  enqueue_share share;
};

/// A frame for the peer, which is a gateway, of a claim proxy.
struct claim_frame {
  protocol::wire_frame frame;
};

/// A claim proxy of the session has ended.
struct claim_proxy_ended {
  claim_place place;
};

/// The SESSION actor interface: one connected node after its hello.
using session_actor = shard_peer_actor::extend<
  // Handles a message of the peer.
  caf::reacts_to<protocol::session_request>,
  // Handles a message of the peer that is stored.
  caf::reacts_to<stored_request>,
  // Refuses a message of the peer that would be stored.
  caf::reacts_to<request_without_share>,
  // Continues with the work that it postponed.
  caf::reacts_to<wake_session>,
  // Pauses or resumes claims for a peer that reads slowly.
  caf::reacts_to<actors::outgoing_pressure>,
  // Places no more credits of its worker, or does so again.
  caf::reacts_to<drain_session>,
  // Sends the frame to its gateway.
  caf::reacts_to<claim_frame>,
  // Forgets the proxy.
  caf::reacts_to<claim_proxy_ended>,
  // The connection has ended: ends the session.
  caf::reacts_to<actors::connection_lost>,
  // Notifies the peer of the reason and closes.
  caf::reacts_to<end_session>>;

/// A step of the claim that a proxy stands for.
struct claim_step_taken {
  claim_step step;
};

/// Asks a proxy to keep its claim's credits from the shard, or to give them to it again.
struct hold_claim {
  bool is_held = false;
};

/// The shard has dropped the credits of a claim that ends, and this many tasks that it had granted
/// are being committed.
struct credits_dropped {
  std::uint32_t being_committed = 0;
};

/// The CLAIM PROXY actor interface: stands at a shard for a claim of another coordinator's gateway.
using claim_proxy_actor = shard_peer_actor::extend<
  // Carries the step out.
  caf::reacts_to<claim_step_taken>,
  // Keeps the credits from the shard, or gives them to it again.
  caf::reacts_to<hold_claim>,
  // Ends as soon as the tasks that are being committed were given back.
  caf::reacts_to<credits_dropped>>;

// Messages to shards.

/// Attaches a peer to a shard; replies go to `actor`.
struct attach_peer {
  peer_attached who;
  shard_peer_actor actor;
  /// In a cluster: the peer is told when the shard is not here, too.
  bool hears_absence = false;
  /// The first claim of a worker, which is decided in the same turn; empty: there is none yet.
  std::optional<core::claim> first_claim{};
};

struct detach_peer {
  core::peer_id peer = 0;
  /// Set for a claim that ends: it loses its credits and is told `credits_dropped` at once. It
  /// stays attached for the tasks that were granted to it before, until it detaches without this.
  claim_proxy_actor ending{};
};

/// A command that needs no parsing: from a session, a timer or another shard.
struct shard_command {
  core::command what;
};

struct ask_shard_stats {
  /// With the queues and leases of each worker.
  bool with_leases = false;
};

/// Asks a shard to commit its decisions and to accept no more.
struct stop_shard {};

/// The SHARD actor interface. Owns the tasks of one shard; the single writer of its keys.
using shard_actor = caf::typed_actor<
  // Parses and decides a peer's request.
  caf::reacts_to<peer_request>,
  // Decides a command.
  caf::reacts_to<shard_command>,
  // Attaches a session.
  caf::reacts_to<attach_peer>,
  // Detaches a session and drops its credits; leases stay valid.
  caf::reacts_to<detach_peer>,
  // Counts tasks and timers.
  caf::replies_to<ask_shard_stats>::with<base::coordinator_counts>,
  // Commits, and replies when everything is durable.
  caf::replies_to<stop_shard>::with<bool>>;

/// Asks for the sum of the counts of all shards.
struct ask_counts {
  /// With the queues and leases of each worker.
  bool with_leases = false;
};

struct counts_told {
  /// Shared by all who asked at the same time; not null.
  std::shared_ptr<const result<base::coordinator_counts>> counts;
};

/// The COUNTS actor interface: asks the shards for the sessions, once at a time.
using counts_actor = caf::typed_actor<
  // Tells counts that are not older than the question.
  caf::replies_to<ask_counts>::with<counts_told>>;

/// All shards of the coordinator, by number; sent once, after the last one was started.
struct meet_shards {
  std::vector<shard_actor> shards;
};

/// All commits of the shard up to this number are durable.
struct batch_committed {
  std::uint64_t number = 0;
  shard_id shard{};
};

/// The store is in a new epoch: the shard's numbers continue there.
struct epoch_raised {
  std::uint32_t epoch = 0;
};

/// The COMMITTER interface: what the journal sends to those whose writes it has.
using committer_actor = caf::typed_actor<
  // Releases effects that waited for the commit.
  caf::reacts_to<batch_committed>,
  // Continues in a new epoch once the current turn is closed.
  caf::reacts_to<epoch_raised>>;

/// Closes the turn after the messages that were queued before.
struct close_turn {};

/// A wake-up of the shard is due. It is stale unless it has the number that was armed last.
struct wake_shard {
  std::uint64_t number = 0;
};

/// The key records that the store found for a look-up of the shard.
struct keys_found {
  std::uint64_t number = 0;
  std::vector<core::recalled_key> found;
};

/// Asks for a check of the free disk space and of the rules of time zones; sent periodically.
struct look_around {};

/// In a cluster: what a shard says to another one, wherever that is served.
struct neighbour_told {
  shard_id to{};
  neighbour_message said;
};

/// The NEIGHBOURS interface: carries what shards of a cluster say to each other.
using neighbours_actor = caf::typed_actor<
  // Passes it on, unless that shard is served nowhere at present.
  caf::reacts_to<neighbour_told>>;

/// In a cluster: these shards are served anew, or have a new connection.
struct neighbours_moved {
  std::vector<shard_id> shards;
};

/// The SHARD interface inside the coordinator's process. Not passed outside.
using shard_internal_actor = shard_actor::extend<
  // Stores the other shards' handles; commands for them wait until then.
  caf::reacts_to<meet_shards>,
  // Releases effects that waited for the commit.
  caf::reacts_to<batch_committed>,
  // Decides commands that waited for the keys.
  caf::reacts_to<keys_found>,
  // Continues in a new epoch once the current turn is closed.
  caf::reacts_to<epoch_raised>,
  // Closes the turn: seals its decisions.
  caf::reacts_to<close_turn>,
  // Pauses or resumes grants according to the free disk space, and takes new rules of time zones.
  caf::reacts_to<look_around>,
  // Handles what has become due.
  caf::reacts_to<wake_shard>,
  // Says again to these shards what may be lost.
  caf::reacts_to<neighbours_moved>>;

/// The shard's timing wheel found that the deadline of the lease has passed.
struct lease_due {};

/// The LEASE TIMER actor interface: one actor per lease that is old enough for a timer.
using lease_timer_actor = caf::typed_actor<
  // Sends the shard `core::expire_lease`.
  caf::reacts_to<lease_due>>;

// The actors that use the store.

/// One shard's part of a group commit, and the actor to notify.
struct commit_request {
  committer_actor from;
  turn_commit turn;
};

/// A shard has nearly used up the numbers of the epoch.
struct raise_epoch {
  shard_id id{};
  committer_actor from;
};

/// Writes the gathered group.
struct write_group {};

/// In `os` mode: it is time to sync the log.
struct sync_journal {};

/// The SHARD JOURNAL actor interface: what a shard sends its writes to. Alone it is the journal; in
/// a cluster the replicas of the shard get them first.
using shard_journal_actor = caf::typed_actor<
  // Adds a shard's writes to the next group.
  caf::reacts_to<commit_request>,
  // Raises the epoch, durably, then notifies the shard.
  caf::reacts_to<raise_epoch>>;

/// The JOURNAL actor interface: the only writer of the store. It has a thread of its own when it
/// waits for the disk.
using journal_actor = shard_journal_actor::extend<
  // Commits the group, then notifies its shards.
  caf::reacts_to<write_group>,
  // Starts a sync of the writes since the previous one.
  caf::reacts_to<sync_journal>>;

/// Requests a sync of everything that was committed before.
struct sync_log {};

/// The log was synced; or an error, after which it is unknown whether it was.
struct log_synced {
  result<void> how{};
};

/// The LOG SYNCER actor interface: waits for the disk, so that the journal in `os` mode does not
/// have to; detached.
using log_syncer_actor = caf::typed_actor<
  // Syncs the log.
  caf::replies_to<sync_log>::with<log_synced>>;

/// Asks the reader to add the bodies to granted tasks and to deliver them.
struct fetch_bodies {
  shard_peer_actor peer;
  bodies_wanted wanted;
};

/// Asks the reader to answer a peer.
struct answer_inquiry {
  shard_peer_actor peer;
  stored_inquiry asked;
};

/// Asks the reader to complete a part of a list and to send it to a peer.
struct list_stored {
  shard_peer_actor peer;
  stored_list list;
};

/// Asks the reader which tasks had the keys.
struct find_keys {
  shard_internal_actor shard;
  keys_wanted wanted;
};

/// Asks the reader for bodies that the shard copies.
struct read_survivors {
  shard_internal_actor shard;
  survivors_wanted wanted;
};

/// Sent by the reader to itself: take the next look-ups, after the messages queued before.
struct look_up_next {};

/// The READER actor interface: reads committed data and answers the peer directly; detached, so
/// that no scheduled actor does I/O.
using reader_actor = caf::typed_actor<
  // Reads bodies and delivers the tasks.
  caf::reacts_to<fetch_bodies>,
  // Queues a query until it is its peer's turn.
  caf::reacts_to<answer_inquiry>,
  // Queues a list in the same way.
  caf::reacts_to<list_stored>,
  // Queues a key look-up in the same way.
  caf::reacts_to<find_keys>,
  // Queues the bodies that a shard copies in the same way.
  caf::reacts_to<read_survivors>,
  // Reads texts or fates and sends the answers.
  caf::reacts_to<look_up_next>>;

/// Asks for a periodic check of the space that ended tasks use.
struct look_at_retention {};

/// Time to check whether the space of purged tasks is needed.
struct look_at_space {};

/// The KEEPER actor interface: frees the space of ended tasks; detached, since it waits for the
/// disk.
using keeper_actor = caf::typed_actor<
  // Rewrites files with droppable records when that is worthwhile.
  caf::reacts_to<look_at_retention>,
  // Frees the space of purged tasks if the disk is full.
  caf::reacts_to<look_at_space>>;

// The registrar inside the coordinator's process.

/// Asks the registrar to accept no more nodes.
struct stop_registrar {};

/// The token table or the keys of JWTs were replaced.
struct tokens_replaced {};

/// Tokens of sessions may have expired.
struct expiry_tick {};

// The replicas of a coordinator in a cluster.

/// A frame of another coordinator, on one of its connections.
struct replica_frame_arrived {
  /// The coordinator's node, and how often its store was started.
  std::string node;
  std::uint64_t incarnation = 0;
  protocol::replica_frame frame;
};

class replica_hub;

/// Runs on the thread of the replicas: the end of something that another thread did for them.
struct replica_step {
  std::function<void(replica_hub&)> run;
};

/// Time passes for the replicas.
struct replica_tick {};

/// Sends the messages that were gathered for other coordinators.
struct flush_replicas {};

/// Asks the replicas to hand over what they serve; then for no more writes.
struct stop_replicas {};

/// Asks for the state of the cluster, after a change if there is one, which the audit log has as
/// one of `by` once it is stored.
struct cluster_question {
  cluster_change change;
  core::origin_ptr by;
};

struct cluster_told {
  result<cluster_status> status;
};

/// Asks for the shards of the cluster as this coordinator knows them, by number.
struct ask_cluster_shards {};

struct cluster_shards_told {
  std::vector<base::cluster_shard_counts> shards;
};

/// The REPLICAS actor interface: the replicas of all shards that this coordinator serves or
/// follows. To the shards that it serves it is their journal.
using replicas_actor = shard_journal_actor::extend<
  // Reports writes to the replica that wrote them.
  caf::reacts_to<batch_committed>,
  // Ignored: epochs are those of etcd.
  caf::reacts_to<epoch_raised>,
  // Carries what a shard that is served here says to another one.
  caf::reacts_to<neighbour_told>,
  // Passes messages to replicas.
  caf::reacts_to<replica_frame_arrived>,
  // Uses a connection to another coordinator.
  caf::reacts_to<actors::link_up>,
  // The connection is gone; the link dials again.
  caf::reacts_to<actors::link_down>,
  // A connection that another coordinator dialled has ended.
  caf::reacts_to<actors::connection_lost>,
  // The other side reads slowly, or fast again.
  caf::reacts_to<actors::outgoing_pressure>,
  // Runs the step.
  caf::reacts_to<replica_step>,
  // Lets the time of all replicas go on.
  caf::reacts_to<replica_tick>,
  // Sends what was gathered.
  caf::reacts_to<flush_replicas>,
  // Tells the state of the cluster, as etcd and the copies of the shards served here have told it.
  caf::replies_to<cluster_question>::with<cluster_told>,
  // Tells the counts of the cluster's shards, without asking others.
  caf::replies_to<ask_cluster_shards>::with<cluster_shards_told>,
  // Hands over, and answers when nothing is served here any more, or after a while.
  caf::replies_to<stop_replicas>::with<bool>>;

/// The REGISTRAR interface inside the coordinator's process.
using registrar_internal_actor = actors::registrar_actor::extend<
  // Ends the sessions whose tokens were removed or changed.
  caf::reacts_to<tokens_replaced>,
  // Ends the sessions whose tokens have expired.
  caf::reacts_to<expiry_tick>,
  // Refuses further hellos and ends every session.
  caf::replies_to<stop_registrar>::with<bool>>;

/// Reads or writes files for a replica; the returned step is sent to the replicas.
struct replica_work {
  std::function<replica_step()> run;
  replicas_actor from;
};

/// The REPLICA WORKER actor interface: waits for the disk on a thread of its own.
using replica_worker_actor = caf::typed_actor<
  // Does the work.
  caf::reacts_to<replica_work>>;

/// The shard that is served here from now on; null: none.
struct host_shard {
  shard_actor shard;
};

/// The SHARD HOST actor interface: stands for a shard of the cluster, whether it is served here or
/// not. Requests for one that is not here are dropped; sessions look before they send them.
using shard_host_actor = shard_actor::extend<
  // Passes messages on to that shard.
  caf::reacts_to<host_shard>,
  // Passes the message on to all peers.
  caf::reacts_to<places_changed>>;

} // namespace codeq::coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::base::coordinator_counts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::replica_work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::host_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::protocol::session_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::end_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::peer_misbehaved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::shard_moved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::places_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::replica_frame_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::replica_step)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::replica_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::flush_replicas)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::stop_replicas)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::cluster_question)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::cluster_told)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::ask_cluster_shards)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::cluster_shards_told)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::shard_reply)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::task_delivery)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::credit_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::queues_added)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::wake_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::drain_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::claim_frame)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::claim_proxy_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::claim_step_taken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::hold_claim)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::credits_dropped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::stored_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::request_without_share)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::peer_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::shard_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::attach_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::detach_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::ask_shard_stats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::stop_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::ask_counts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::counts_told)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::meet_shards)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::batch_committed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::epoch_raised)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::close_turn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::wake_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_around)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::neighbour_told)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::neighbours_moved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::lease_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::commit_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::raise_epoch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::write_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::sync_journal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::sync_log)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::log_synced)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::fetch_bodies)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::answer_inquiry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::list_stored)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::find_keys)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::read_survivors)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::keys_found)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_up_next)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_at_retention)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_at_space)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::stop_registrar)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::tokens_replaced)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::expiry_tick)
