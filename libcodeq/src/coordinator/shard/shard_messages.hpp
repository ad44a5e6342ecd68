// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/command.hpp"
#include "core/commands/effect.hpp"
#include "core/commands/event.hpp"
#include "protocol/peer_messages.hpp"
#include "schedule/time_zone.hpp"
#include "security/principal.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/write_set.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// The messages between shards, sessions, journal and reader, as plain values. Their drivers decide
/// how and on which thread they are sent. Peers and shards are identified by numbers.
namespace codeq::coordinator {

/// The peer ids of the process. The registrar counts its sessions from 1 and never gets beyond
/// them; the gateway and its claims count from the first of these, and the proxies of claims of
/// other gateways from the second. Both begin again when they have used up theirs.
inline constexpr core::peer_id gateway_peers_first = 0x8000'0000;
inline constexpr core::peer_id claim_peers_first = 0xc000'0000;

/// A reserved part of the bytes that enqueues, checkpoints and changes may occupy until they are
/// durable. The destructor of the last copy releases it.
using enqueue_share = std::shared_ptr<const void>;

/// The answer to a peer's request for which there was no share.
struct request_without_share {
  protocol::wire_frame answer;
};

/// A peer's request, as its session passes it to the shard that it names.
struct peer_request {
  core::peer_id peer = 0;
  protocol::shard_request request;
  /// The peer's principal; null in a single-user setup.
  std::shared_ptr<const security::principal> sender{};
  /// Held until the request's effects are durable; null unless it is stored.
  enqueue_share share{};
  /// Where a change by an operator comes from; null for other requests.
  core::origin_ptr origin{};
  /// Since when the shard has kept it; empty unless it is a read that could not be answered.
  std::optional<monotonic_time> kept_since{};
};

/// A peer was attached.
struct peer_attached {
  core::peer_id peer = 0;
  /// Null for producers and operators.
  std::shared_ptr<const worker_identity> worker{};
  /// Queues that a worker claims from.
  std::vector<queue_address> queues{};
  /// Null in a single-user setup.
  std::shared_ptr<const security::principal> bearer{};
  /// The peer is to be sent the names of all queues.
  bool watches_queues = false;
  /// See `core::attach_worker`.
  std::vector<queue_address> prefixes{};
  std::vector<queue_address> without{};
  /// An HTTP gateway: its session carries the requests of all tenants.
  bool is_gateway = false;
};

/// A shard's reply or notification to a peer.
struct shard_reply {
  shard_id shard{};
  protocol::peer_reply reply;
};

/// Leased tasks on their way to a peer.
struct task_delivery {
  shard_id shard{};
  core::tasks_granted granted;
  /// The tasks of each run.
  std::vector<core::encoded_tasks> bodies;
  /// Whether more tasks are ready there; empty when the shard has already sent this information.
  std::optional<bool> more;
};

/// Notifies a peer of a change of its credits at a shard.
struct credit_news {
  enum class kind : std::uint8_t {
    /// No more tasks are ready for the peer; its credits wait there.
    drained,
    /// Tasks are ready for the peer.
    has_work,
    /// `credits` were returned.
    returned,
    /// `credits` were returned: the first task, of `priority`, comes after one on the shard `by`.
    outranked,
  };

  shard_id shard{};
  kind what = kind::drained;
  std::uint32_t credits = 0;
  /// Room for bytes that is returned.
  std::uint64_t bytes = 0;
  shard_id by{};
  std::uint8_t priority = 0;
  /// Change of the number of granted tasks that are read from the store before they are sent.
  std::int64_t being_read = 0;
};

/// Queues that a shard has not yet sent to a peer that watches them. The first message contains all
/// queues, even if there are none.
struct queues_added {
  shard_id shard{};
  std::vector<queue_address> queues;
  /// Queues that the shard has removed. One of them may exist again: then it is also in `queues`.
  std::vector<queue_address> removed{};
};

/// Granted tasks whose bodies are not all in the shard's cache.
struct bodies_wanted {
  shard_id shard{};
  core::tasks_granted granted;
  /// One per run; empty where the body must be read.
  std::vector<core::encoded_tasks> bodies;
};

/// A query for a task that the store has to answer.
struct stored_inquiry {
  shard_id shard{};
  core::inquiry why;
  sequence seq = 0;
  /// Null when only the task's fate record can answer it.
  std::shared_ptr<const core::task_view> view{};
  /// Fates below these marks do not count; null when there are none.
  std::shared_ptr<const core::purge_marks> purged{};
  /// Shard time.
  timestamp now{};
  /// The principal that asks; null in a single-user setup.
  std::shared_ptr<const security::principal> asker{};
  /// The peer is a connection, whose waiting look-ups are bounded. The gateway is not: its callers
  /// have bounds of their own.
  bool is_bounded = false;
  /// Set for a query for the audit log of this number of shards, and for nothing else. 0: of
  /// `shard` only.
  std::optional<audit_filter> audit{};
  std::uint16_t shard_count = 0;
  /// Set for a query for the history of a schedule: the answer without it.
  std::shared_ptr<const protocol::schedules_told> schedule{};
  /// With `schedule`: writes the nominal times.
  std::shared_ptr<const schedule::time_zone> zone{};
};

/// A part of a list that the store has to complete.
struct stored_list {
  shard_id shard{};
  core::tasks_listed in_memory;
  /// Shard time.
  timestamp now{};
  /// See `stored_inquiry`.
  bool is_bounded = false;
};

/// Keys whose owners the store has to look up. @pre every earlier snapshot that closed one of them
/// is committed
struct keys_wanted {
  shard_id shard{};
  /// Number of the look-up at the shard.
  std::uint64_t number = 0;
  /// The peer that it is for; 0 for another shard.
  core::peer_id peer = 0;
  std::vector<task_key> names;
  /// See `stored_inquiry`.
  std::shared_ptr<const core::purge_marks> purged{};
  /// Shard time.
  timestamp now{};
  /// The actor of the shard that gets the answer: one that serves the shard later has other
  /// look-ups under the same numbers. Set by the reader's driver.
  std::uint64_t asker = 0;
};

/// Tasks whose bodies a shard wants to copy. @pre their segment is committed
struct survivors_wanted {
  shard_id shard{};
  core::survivors tasks;
  /// See `keys_wanted`.
  std::uint64_t asker = 0;
};

/// A command that a shard of a cluster gives another one.
struct neighbour_message {
  shard_id from{};
  /// The epoch in which that shard is served.
  std::uint32_t epoch = 0;
  core::command what;
};

/// One shard's part of a group commit.
struct turn_commit {
  shard_id shard{};
  std::uint64_t number = 0;
  std::shared_ptr<const storage::write_set> writes;
  /// The records that may be dropped once these writes are synced; null without a snapshot.
  std::shared_ptr<const storage::shard_horizon> horizon{};
  /// The writes begin other data of the shard, of which no horizon says anything.
  bool forgets_horizon = false;
  /// The writes must be synced before anything that follows from them is told, in both modes.
  bool is_synced = false;
  /// Records of the shard's replica that belong to the writes; null without a replica.
  std::shared_ptr<const storage::write_set> replica_writes{};
};

} // namespace codeq::coordinator
