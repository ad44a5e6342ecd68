// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/encoded_tasks.hpp"
#include "core/commands/fairness_mark.hpp"
#include "core/commands/heartbeat_command.hpp"
#include "core/commands/limit_command.hpp"
#include "core/commands/operator_command.hpp"
#include "core/commands/permit_command.hpp"
#include "core/commands/queue_settings.hpp"
#include "core/commands/retained_key.hpp"
#include "core/commands/schedule_command.hpp"
#include "core/commands/settings_command.hpp"
#include "core/commands/survivors.hpp"
#include "core/commands/task_checkpoint.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The commands of a shard. Every bound of `codeq/limits.hpp` has been checked before a command is
/// created.
namespace codeq::core {

/// Identifies a producer's request, which may be repeated.
struct request_id {
  producer_id producer;
  std::uint64_t number = 0;
  /// The producer has received the answers to all smaller numbers.
  std::uint64_t answered_below = 0;
};

/// Consecutive tasks of a request that share all fields but their bodies.
struct enqueue_run {
  queue_address queue;
  std::uint8_t priority = 0;
  task_settings settings;
  /// Shard time; the epoch (0) means now.
  timestamp not_before{};
  /// Allows a promotion to lift `not_before`.
  bool allow_promotion = false;
  /// At most one task of a group is leased at a time, in order of arrival; empty: no group.
  std::string group;
  /// The producer's key for the task; empty: none. A run with a key has exactly one task.
  std::string key;
  on_duplicate duplicate = on_duplicate::existing;
  /// Lets a duplicate replace the body of an unleased record, too.
  bool replace_payload = false;
  /// The fields of `settings` that take the queue's value: a bit set of `setting_bit`.
  std::uint16_t left_to_queue = 0;
  encoded_tasks tasks;
  fairness_mark fairness{};
  /// At most `limits::task_limits_max`, each name once.
  std::vector<task_limit> limits{};
};

/// Adds tasks, all or none. Effect: `enqueue_answered`.
struct enqueue {
  peer_id peer = 0;
  request_id request;
  std::vector<enqueue_run> runs;
  /// An error refuses the request, but a repeated request still gets its first answer.
  result<void> allowed{};
  /// The answer shows the tasks that the request created, unless it is a repeated request.
  bool shows_tasks = false;
};

/// A worker's session begins; it claims from these queues.
struct attach_worker {
  peer_id peer = 0;
  std::shared_ptr<const worker_identity> worker;
  std::vector<queue_address> queues;
  /// Also all queues of the tenant whose names begin with `queue`, now and later.
  std::vector<queue_address> prefixes{};
  /// As in `change_queues`.
  std::vector<queue_address> without{};
};

/// From now on an attached worker claims from these queues only; its credits stay valid.
struct change_queues {
  peer_id peer = 0;
  std::vector<queue_address> queues;
  /// As in `attach_worker`.
  std::vector<queue_address> prefixes{};
  /// Queues that it serves and takes no tasks of for now, since it holds as many as it may. The
  /// prefixes leave them out; none of them is in `queues`.
  std::vector<queue_address> without{};
};

/// A session has ended; its credits are void. Leases stay valid.
struct detach_peer {
  peer_id peer = 0;
};

/// The room of a claim without a bound.
inline constexpr std::int64_t unbounded_bytes = std::int64_t{1} << 40;

/// Adds credits, and room for the bodies of tasks, to an attached worker. Tasks are granted while
/// both are left, so the last task may exceed the room. Effects: `tasks_granted` now or later;
/// `claim_parked`.
struct claim {
  peer_id peer = 0;
  std::uint32_t credits = 0;
  /// The lease that the claim requests; zero: the task's own.
  duration lease{0};
  /// Maximum number of tasks that are granted together; zero: unlimited.
  std::uint32_t batch_tasks = 0;
  /// Additional bytes of bodies for which the worker's connection has room.
  std::int64_t bytes = unbounded_bytes;
  /// The worker can have the tasks of all coordinators of the cluster, so that those of others that
  /// come first are left to be granted to it there.
  bool reaches_all = false;
};

/// Takes unused credits back. Effect: `credits_revoked`.
struct revoke_credits {
  peer_id peer = 0;
  std::uint32_t credits = 0;
};

/// A task that a completion adds, and the shard that it belongs to.
struct follow_up {
  shard_id shard{};
  enqueue_run run;
};

struct lease_report {
  sequence seq = 0;
  fencing_token token{};
  disposition how = disposition::completed;
  /// With nack: the handler's own delay. With limited: always set.
  std::optional<duration> delay;
  /// False: the attempt never began and is not charged.
  bool started = true;
  /// The result or the error text.
  bytes text;
  /// With `completed`: added in the same write as the outcome, or not at all.
  std::vector<follow_up> follow_ups;
  /// An error when its content is out of bounds: a live lease then stays, and this is the answer.
  result<void> allowed{};
  /// The attempt's latest checkpoint that was not acknowledged; number 0: none.
  lease_checkpoint checkpoint{};
  /// With limited, where `delay` is how long a key is closed: the limit of the task whose key it
  /// is; empty: the task's first one.
  std::string limit{};
  /// Actual costs of the attempt, by the name of a limit; the task has those of its other limits.
  std::vector<task_limit> costs{};
};

/// Ends leases, each identified by its token. Effects: `reports_answered`, `task_not_here`.
struct report {
  peer_id peer = 0;
  std::vector<lease_report> reports;
};

/// Follow-ups of tasks of the shard `from`: added exactly once, however often they are sent, and
/// regardless of queue limits. Effect: `follow_ups_taken`.
struct take_follow_ups {
  shard_id from{};
  /// Number of the follow-ups at that shard; ascending.
  std::uint64_t number = 0;
  /// All smaller numbers that were ever sent have been taken and will not be sent again.
  std::uint64_t answered_below = 0;
  std::vector<enqueue_run> runs;
};

/// The shard `by` has durably added the follow-ups with that number.
struct confirm_follow_ups {
  shard_id by{};
  std::uint64_t number = 0;
  /// The task of each run, in order; empty when they are not known any more.
  std::vector<sequence> tasks{};
};

/// A lease's timer fired; only a hint. Effect: `timer_wanted` when the lease was extended.
struct expire_lease {
  sequence seq = 0;
  fencing_token token{};
};

struct task_lease {
  sequence seq = 0;
  fencing_token token{};
};

/// A worker reconnected with these leases. Effects: `leases_lost` for those that it no longer
/// holds, `tasks_granted` (redelivered) for those that it does not know and that were granted
/// before it attached, unless it has resumed since, then `resumed`.
struct resume {
  peer_id peer = 0;
  std::shared_ptr<const worker_identity> worker;
  std::vector<task_lease> leases;
};

/// A worker ended its session in order: its leases are given back, uncharged.
struct release_worker {
  std::shared_ptr<const worker_identity> worker;
};

/// A new incarnation took over the name: the leases of all earlier ones end as lost.
struct replace_worker {
  std::shared_ptr<const worker_identity> worker;
};

/// Notifies the peer when these tasks end. Effects: `task_described`, `task_not_here`; now or
/// later.
struct await_tasks {
  peer_id peer = 0;
  std::vector<sequence> tasks;
  /// Also report progress. Effect: `progress_told`.
  bool with_progress = false;
};

/// Withdraws `await_tasks`: the peer hears nothing more of these tasks.
struct stop_awaiting {
  peer_id peer = 0;
  std::vector<sequence> tasks;
};

/// Handles only the passing of time: due tasks, leases that need a timer.
struct tick {};

/// The first ready tasks of other coordinators have changed: workers whose credits were given back
/// because of them may be granted tasks here again. Effects: `work_available`.
struct look_at_rivals {};

/// The producer will repeat no request of its session, all of which were answered; the next
/// snapshot forgets the session. No effects.
struct end_session {
  producer_id producer{};
};

/// Writes the changes since the last snapshot, so that recovery need not replay them.
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
  stop_awaiting,
  describe_task,
  explain_task,
  tell_history,
  configure_queue,
  weigh_keys,
  pause_queue,
  show_queue,
  list_tasks,
  recall_keys,
  copy_survivors,
  end_session,
  note_command,
  tell_audit,
  set_schedule,
  change_schedule,
  show_schedule,
  list_schedules,
  fire_schedule,
  watch_ends,
  note_ends,
  set_limit,
  list_limits,
  list_limit_keys,
  close_limit_key,
  adopt_settings,
  settings_adopted,
  ask_permits,
  give_permits,
  tick,
  look_at_rivals,
  take_snapshot>;

} // namespace codeq::core
