// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/encoded_tasks.hpp"
#include "core/commands/heartbeat_command.hpp"
#include "core/commands/operator_command.hpp"
#include "core/commands/retained_key.hpp"
#include "core/commands/survivors.hpp"
#include "core/commands/task_checkpoint.hpp"
#include "core/commands/task_settings.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What a shard is asked to do. Every bound of `codeq/limits.hpp` has been checked before a command
/// is made.
namespace codeq::core {

/// A request of a producer that may come again.
struct request_id {
  producer_id producer;
  std::uint64_t number = 0;
  /// The producer has the answers to all smaller numbers.
  std::uint64_t answered_below = 0;
};

/// Consecutive tasks of a request that share everything but their bodies.
struct enqueue_run {
  queue_address queue;
  std::uint8_t priority = 0;
  task_settings settings;
  /// Shard time; the epoch (0) means now.
  timestamp not_before{};
  /// Whether `not_before` may be brought forward.
  bool allow_promotion = false;
  /// At most one task of a group is leased, in order of arrival; empty is no group.
  std::string group;
  /// The producer's own name for the task; empty is none. A run with a key has exactly one task.
  std::string key;
  on_duplicate duplicate = on_duplicate::existing;
  /// Whether a duplicate also swaps the body of an unleased record.
  bool replace_payload = false;
  /// The fields of `settings` that are left to the queue: `setting_bit`s.
  std::uint16_t left_to_queue = 0;
  encoded_tasks tasks;
};

/// Adds tasks, all or nothing. Effect: `enqueue_answered`.
struct enqueue {
  peer_id peer = 0;
  request_id request;
  std::vector<enqueue_run> runs;
  /// Whether anything may be added now. A request that was answered before gets its answer all the
  /// same.
  result<void> allowed{};
};

/// A worker's session begins: it will claim from these queues.
struct attach_worker {
  peer_id peer = 0;
  std::shared_ptr<const worker_identity> worker;
  std::vector<queue_address> queues;
};

/// An attached worker takes tasks of these queues only from here on; its credits stay.
struct change_queues {
  peer_id peer = 0;
  std::vector<queue_address> queues;
};

/// The session is gone; its credits with it. Leases run on.
struct detach_peer {
  peer_id peer = 0;
};

/// The room for bytes of a claim that sets no bound.
inline constexpr std::int64_t unbounded_bytes = std::int64_t{1} << 40;

/// Adds credits, and room for the bodies of tasks, to an attached worker. Tasks are granted while
/// both are left, so the last one may take more room than there is. Effects: `tasks_granted` now or
/// later; `claim_parked`.
struct claim {
  peer_id peer = 0;
  std::uint32_t credits = 0;
  /// The claim's wish; zero leaves the lease to the task.
  duration lease{0};
  /// Tasks that are granted together at most; zero for no wish.
  std::uint32_t batch_tasks = 0;
  /// More bytes of bodies that the worker's connection has room for.
  std::int64_t bytes = unbounded_bytes;
};

/// Takes unused credits back. Effect: `credits_revoked`.
struct revoke_credits {
  peer_id peer = 0;
  std::uint32_t credits = 0;
};

/// Tasks that a completion adds, and the shard that must own them.
struct follow_up {
  shard_id shard{};
  enqueue_run run;
};

struct lease_report {
  sequence seq = 0;
  fencing_token token{};
  disposition how = disposition::completed;
  /// With nack: the handler's own delay.
  std::optional<duration> delay;
  /// False: the attempt never began and is not charged.
  bool started = true;
  /// The result or the error text.
  bytes text;
  /// With `completed`: added in the same write as the outcome, or not at all.
  std::vector<follow_up> follow_ups;
  /// An error when what it carries is out of bounds: a live lease stays, and is answered with this.
  result<void> allowed{};
  /// What the attempt saved last, for the next one, unless it was acknowledged; no number is none.
  lease_checkpoint checkpoint{};
};

/// Ends leases, each decided by its token. Effects: `reports_answered`, `task_not_here`.
struct report {
  peer_id peer = 0;
  std::vector<lease_report> reports;
};

/// Follow-ups of tasks of the shard `from`: added once, however often they come, whatever the
/// limits of their queues. Effect: `follow_ups_taken`.
struct take_follow_ups {
  shard_id from{};
  /// Names them at that shard; ascending.
  std::uint64_t number = 0;
  /// All smaller numbers that were ever sent have been taken and will not come again.
  std::uint64_t answered_below = 0;
  std::vector<enqueue_run> runs;
};

/// The shard `by` has the follow-ups of that number, durably.
struct confirm_follow_ups {
  shard_id by{};
  std::uint64_t number = 0;
};

/// A lease's timer fired; a hint. Effect: `timer_wanted` when the lease was extended.
struct expire_lease {
  sequence seq = 0;
  fencing_token token{};
};

struct task_lease {
  sequence seq = 0;
  fencing_token token{};
};

/// A worker came back with these leases. Effects: `leases_lost` for what is not its own any more,
/// `tasks_granted` (redelivered) for what it does not know, then `resumed`.
struct resume {
  peer_id peer = 0;
  std::shared_ptr<const worker_identity> worker;
  std::vector<task_lease> leases;
};

/// A worker said goodbye: its leases are given back, uncharged.
struct release_worker {
  std::shared_ptr<const worker_identity> worker;
};

/// A new incarnation took the name: the leases of all others under it end as lost.
struct replace_worker {
  std::shared_ptr<const worker_identity> worker;
};

/// Tells the peer when these tasks end. Effects: `task_described`, `task_not_here`; now or later.
struct await_tasks {
  peer_id peer = 0;
  std::vector<sequence> tasks;
  /// Tell how far their handlers are, too. Effect: `progress_told`.
  bool with_progress = false;
};

/// Nothing but the passing of time: due tasks, leases that need a timer.
struct tick {};

/// Writes what changed since the last snapshot, so that recovery need not replay it.
struct take_snapshot {};

using command = std::variant<
  enqueue,
  attach_worker,
  change_queues,
  detach_peer,
  claim,
  revoke_credits,
  heartbeat,
  report,
  take_follow_ups,
  confirm_follow_ups,
  expire_lease,
  resume,
  release_worker,
  replace_worker,
  cancel,
  promote,
  redrive,
  purge,
  force,
  change_many,
  await_tasks,
  describe_task,
  explain_task,
  tell_history,
  configure_queue,
  pause_queue,
  show_queue,
  list_tasks,
  recall_keys,
  copy_survivors,
  tick,
  take_snapshot>;

} // namespace codeq::core
