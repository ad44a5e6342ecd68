// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "coordinator/session/session.hpp"
#include "coordinator/shard/shard_messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <memory>
#include <vector>

/// All actor interfaces of the coordinator, one sentence per message: the drivers of shard,
/// session, journal, reader and registrar, and the actors that only time and disk need.
namespace codeq::coordinator {

/// Sent to a session when its end is decided elsewhere: tells the peer, then closes.
struct end_session {
  error reason;
};

/// A message of the peer broke the protocol; the connection has to go.
struct peer_misbehaved {
  error reason;
};

/// The PEER interface: the messages that shards and reader send to a session or to the gateway.
using shard_peer_actor = caf::typed_actor<
  // Takes an answer, or news.
  caf::reacts_to<shard_reply>,
  // Takes leased tasks.
  caf::reacts_to<task_delivery>,
  // Learns what became of its credits.
  caf::reacts_to<credit_news>,
  // Learns of queues that somebody named for the first time.
  caf::reacts_to<queues_added>,
  // Ends, because it broke the protocol.
  caf::reacts_to<peer_misbehaved>>;

/// The token's rate allows more credits than before.
struct wake_session {
  session_wake what = session_wake::held_credits;
};

/// An enqueue of the peer, with the share that it holds.
struct peer_enqueue {
  protocol::enqueue_request request;
  enqueue_share share;
};

/// The SESSION actor interface: one connected node after its hello.
using session_actor = shard_peer_actor::extend<
  // Takes a frame of the peer.
  caf::reacts_to<protocol::session_request>,
  // Takes an enqueue of the peer.
  caf::reacts_to<peer_enqueue>,
  // Refuses an enqueue of the peer for now.
  caf::reacts_to<enqueue_without_share>,
  // Places credits that were held back.
  caf::reacts_to<wake_session>,
  // Stops or resumes claiming for a peer that reads slowly.
  caf::reacts_to<actors::outgoing_pressure>,
  // The connection is gone: so is the session.
  caf::reacts_to<actors::connection_lost>,
  // Tells the peer why and closes.
  caf::reacts_to<end_session>>;

// Messages to shards.

/// A peer begins to ask a shard, and is answered here.
struct attach_peer {
  peer_attached who;
  shard_peer_actor actor;
};

struct detach_peer {
  core::peer_id peer = 0;
};

/// A command that needs no reading: of a session, a timer or another shard.
struct shard_command {
  core::command what;
};

struct ask_shard_stats {};

/// Asks a shard to commit what it has and to take no more.
struct stop_shard {};

/// The SHARD actor interface. Owns the tasks of one shard; the single writer of its keys.
using shard_actor = caf::typed_actor<
  // Reads and decides what a peer asks.
  caf::reacts_to<peer_request>,
  // Decides a command.
  caf::reacts_to<shard_command>,
  // Begins a session here.
  caf::reacts_to<attach_peer>,
  // Forgets a session and its credits; leases run on.
  caf::reacts_to<detach_peer>,
  // Counts tasks and timers.
  caf::replies_to<ask_shard_stats>::with<coordinator_stats>,
  // Commits and answers when all of it is durable.
  caf::replies_to<stop_shard>::with<bool>>;

/// All shards of the coordinator, by number; sent once, when the last one was started.
struct meet_shards {
  std::vector<shard_actor> shards;
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

/// A wake-up of the shard is due. It is stale unless it has the number that was armed last.
struct wake_shard {
  std::uint64_t number = 0;
};

/// The key records that the store found for a look-up of the shard.
struct keys_found {
  std::uint64_t number = 0;
  std::vector<core::recalled_key> found;
};

/// Reads how much space the disk has; sent periodically.
struct look_at_disk {};

/// The SHARD interface inside the coordinator's process. Never handed out.
using shard_internal_actor = shard_actor::extend<
  // Learns who the other shards are; what they are to get waits for it.
  caf::reacts_to<meet_shards>,
  // Releases what waited for the commit.
  caf::reacts_to<batch_committed>,
  // Decides what waited for the keys.
  caf::reacts_to<keys_found>,
  // Goes on in a new epoch when the current turn is closed.
  caf::reacts_to<epoch_raised>,
  // Seals what was decided since the last turn.
  caf::reacts_to<close_turn>,
  // Stops or resumes granting by the space on the disk.
  caf::reacts_to<look_at_disk>,
  // Looks what has come due.
  caf::reacts_to<wake_shard>>;

/// The deadline of a lease has come.
struct lease_due {};

/// The LEASE TIMER actor interface: one per lease.
using lease_timer_actor = caf::typed_actor<
  // Tells the shard that the lease ran out.
  caf::reacts_to<lease_due>>;

// The actors that touch the store.

/// One shard's part of a group commit, and whom to tell.
struct commit_request {
  shard_internal_actor shard;
  turn_commit turn;
};

/// A shard will soon have given all numbers of the epoch.
struct raise_epoch {
  shard_id id{};
  shard_internal_actor shard;
};

/// Writes the group that has gathered.
struct write_group {};

/// It is time to have the log synced, in `os` mode.
struct sync_journal {};

/// The JOURNAL actor interface: the only writer of the store. It has a thread of its own
/// when it waits for the disk.
using journal_actor = caf::typed_actor<
  // Gathers a shard's writes into the next group.
  caf::reacts_to<commit_request>,
  // Raises the store's epoch, durably, then tells the shard.
  caf::reacts_to<raise_epoch>,
  // Commits the group, then tells its shards.
  caf::reacts_to<write_group>,
  // Has what was written since the last time synced.
  caf::reacts_to<sync_journal>>;

/// Asks to bring everything to the disk that was committed before.
struct sync_log {};

/// The log is on the disk, or an error says why that is unknown.
struct log_synced {
  result<void> how{};
};

/// The LOG SYNCER actor interface: waits for the disk so that the journal of `os` mode need not;
/// detached.
using log_syncer_actor = caf::typed_actor<
  // Syncs the log.
  caf::replies_to<sync_log>::with<log_synced>>;

/// Asks the reader to complete granted tasks for a peer.
struct fetch_bodies {
  shard_peer_actor peer;
  bodies_wanted wanted;
};

/// Asks the reader to answer a peer.
struct answer_inquiry {
  shard_peer_actor peer;
  stored_inquiry asked;
};

/// Asks the reader who had keys.
struct find_keys {
  shard_internal_actor shard;
  keys_wanted wanted;
};

/// Asks the reader for bodies that a shard copies.
struct read_survivors {
  shard_internal_actor shard;
  survivors_wanted wanted;
};

/// Has the reader take the next look-ups, behind what it was sent before.
struct look_up_next {};

/// The READER actor interface: reads what was committed and answers the peer itself; detached, so
/// that no scheduled actor does I/O.
using reader_actor = caf::typed_actor<
  // Reads bodies and sends the batch.
  caf::reacts_to<fetch_bodies>,
  // Keeps a question until it is its peer's turn.
  caf::reacts_to<answer_inquiry>,
  // Keeps a look-up of keys likewise.
  caf::reacts_to<find_keys>,
  // Keeps what a shard copies likewise.
  caf::reacts_to<read_survivors>,
  // Reads texts or fates and sends the answers.
  caf::reacts_to<look_up_next>>;

/// Looks whether ended tasks take too much space, once in a while.
struct look_at_retention {};

/// The KEEPER actor interface: gives the space of ended tasks back; detached, since it waits.
using keeper_actor = caf::typed_actor<
  // Has what may be dropped rewritten, when that is worth it.
  caf::reacts_to<look_at_retention>>;

// The registrar as its own process sees it.

/// Asks the registrar to let nobody in any more.
struct stop_registrar {};

/// Other tokens than before are in force.
struct tokens_replaced {};

/// The REGISTRAR interface inside the coordinator's process.
using registrar_internal_actor = actors::registrar_actor::extend<
  // Ends the sessions of tokens that are gone or say something else.
  caf::reacts_to<tokens_replaced>,
  // Refuses further hellos and ends every session.
  caf::replies_to<stop_registrar>::with<bool>>;

} // namespace codeq::coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator_stats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::protocol::session_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::end_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::peer_misbehaved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::shard_reply)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::task_delivery)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::credit_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::queues_added)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::wake_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::peer_enqueue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::enqueue_without_share)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::peer_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::shard_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::attach_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::detach_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::ask_shard_stats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::stop_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::meet_shards)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::batch_committed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::epoch_raised)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::close_turn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::wake_shard)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_at_disk)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::lease_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::commit_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::raise_epoch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::write_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::sync_journal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::sync_log)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::log_synced)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::fetch_bodies)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::answer_inquiry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::find_keys)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::read_survivors)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::keys_found)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_up_next)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::look_at_retention)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::stop_registrar)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::tokens_replaced)
