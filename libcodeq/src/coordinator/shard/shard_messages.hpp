// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/command.hpp"
#include "core/commands/effect.hpp"
#include "core/commands/event.hpp"
#include "protocol/peer_messages.hpp"
#include "security/principal.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/write_set.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// The messages between shards, sessions, journal and reader, as plain values: who carries them,
/// and on which thread, is their drivers' business. Peers and shards are named by numbers.
namespace codeq::coordinator {

/// A reserved part of the bytes that enqueues may occupy. The destructor of the last copy releases
/// it.
using enqueue_share = std::shared_ptr<const void>;

/// A peer's enqueue request that is refused, since there was no share for it.
struct enqueue_without_share {
  /// The request's number.
  std::uint64_t number = 0;
  error reason{};
};

/// A peer's request, as its session passes it to the shard that it names.
struct peer_request {
  core::peer_id peer = 0;
  protocol::shard_request request;
  /// Whose it is; null when everybody may do everything.
  std::shared_ptr<const security::principal> sender{};
  /// Held until what the request led to is durable; null for what is no enqueue.
  enqueue_share share{};
};

/// A peer begins to ask a shard.
struct peer_attached {
  core::peer_id peer = 0;
  /// Null for producers and operators.
  std::shared_ptr<const worker_identity> worker{};
  /// The queues that a worker takes tasks of.
  std::vector<queue_address> queues{};
  /// Null when everybody may do everything.
  std::shared_ptr<const security::principal> bearer{};
  /// Wants to know of every queue.
  bool watches_queues = false;
};

/// A shard's answer to a peer, or news for it.
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
  /// Whether more is ready there; empty when the shard has said so itself, before this.
  std::optional<bool> more;
};

/// Tells a peer what became of its credits at a shard.
struct credit_news {
  enum class kind : std::uint8_t {
    /// Nothing more is ready for the peer; its credits wait there.
    drained,
    /// Work is ready for the peer.
    has_work,
    /// So many credits were given back.
    returned,
  };

  shard_id shard{};
  kind what = kind::drained;
  std::uint32_t credits = 0;
  /// Room for bytes that is given back.
  std::uint64_t bytes = 0;
};

/// Queues that a shard has not yet named to a peer that watches them; at the beginning all of them,
/// also when there are none.
struct queues_added {
  shard_id shard{};
  std::vector<queue_address> queues;
};

/// Granted tasks whose bodies the shard has not in its cache.
struct bodies_wanted {
  shard_id shard{};
  core::tasks_granted granted;
  /// One per run; empty where the body has to be read.
  std::vector<core::encoded_tasks> bodies;
};

/// A question about a task that the store has to answer.
struct stored_inquiry {
  shard_id shard{};
  core::inquiry why;
  sequence seq = 0;
  /// Null when only the task's fate can tell.
  std::shared_ptr<const core::task_view> view{};
  /// Fates below these marks do not count; null when there is none.
  std::shared_ptr<const core::purge_marks> purged{};
  /// Shard time.
  timestamp now{};
  /// Who asks; null when everybody may see everything.
  std::shared_ptr<const security::principal> asker{};
};

/// Keys of which the store has to say who had them. @pre every snapshot that closed one of them
/// before is committed
struct keys_wanted {
  shard_id shard{};
  /// Names the question at the shard.
  std::uint64_t number = 0;
  /// On whose behalf; 0 for another shard.
  core::peer_id peer = 0;
  std::vector<task_key> names;
  /// See `stored_inquiry`.
  std::shared_ptr<const core::purge_marks> purged{};
  /// Shard time.
  timestamp now{};
};

/// Tasks whose bodies a shard wants to copy. @pre their segment is committed
struct survivors_wanted {
  shard_id shard{};
  core::survivors tasks;
};

/// One shard's part of a group commit.
struct turn_commit {
  shard_id shard{};
  std::uint64_t number = 0;
  std::shared_ptr<const storage::write_set> writes;
  /// The records that may be dropped once these writes are synced; null without a snapshot.
  std::shared_ptr<const storage::shard_horizon> horizon{};
};

} // namespace codeq::coordinator
