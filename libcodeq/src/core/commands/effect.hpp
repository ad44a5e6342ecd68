// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/commands/event.hpp"
#include "core/commands/operator_effect.hpp"
#include "core/commands/schedule_effect.hpp"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The effects of a turn outside the shard. No effect may be carried out before the turn's events,
/// and those of all earlier turns, are durable.
namespace codeq::core {

/// Answers an enqueue: the ids and outcomes of the tasks in the order of the request, or the reason
/// why the request was refused.
struct enqueue_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  std::vector<seq_run> tasks;
  /// One per task; empty when all were created.
  std::vector<enqueue_kind> kinds{};
  /// An error when nothing was done.
  result<void> allowed{};
  /// The tenant of the tasks of a refused request; empty when there are several.
  std::string tenant{};
  /// The tasks that were created, as they were then, if the command asked for them.
  std::vector<task_view> shown{};
};

/// Consecutive tasks of one segment under consecutive tokens.
struct granted_run {
  sequence first = 0;
  std::uint32_t count = 0;
  fencing_token first_token{};
  /// The segment that contains their bodies.
  sequence segment = 0;
  bool aside = false;
  /// The body of the task in an aside was replaced after its enqueue; it is in a record of its own.
  bool replaced = false;
  /// One per task; empty when all are at attempt 1.
  std::vector<std::uint16_t> attempts;
  queue_address queue;
  /// The queue's index; another queue may have it by the time the effect is carried out.
  std::uint32_t queue_index = 0;
  std::uint8_t priority = 0;
  duration lease{0};
  std::uint16_t max_attempts = 0;
  timestamp enqueued_at;
  std::string group{};
  std::string key{};
  /// Checkpoints of the tasks that have one, in order; their data is added by the reader.
  std::vector<lease_checkpoint> checkpoints{};
};

/// Grants tasks to a worker, at most `tuning::grant_bytes_max` of bodies.
struct tasks_granted {
  peer_id peer = 0;
  /// The worker holds these leases already without knowing it; they use no credits.
  bool redelivered = false;
  /// More tasks are ready for this worker than it has credits.
  bool more = false;
  std::vector<granted_run> runs;
  /// The room for bytes that the tasks used; 0 when they are redelivered.
  std::uint64_t bytes = 0;
};

/// A claim was not used up: no more tasks are ready for this worker, and its credits wait.
struct claim_parked {
  peer_id peer = 0;
};

/// Tasks are ready for a worker without credits here; sent once until it claims again.
struct work_available {
  peer_id peer = 0;
};

struct credits_revoked {
  peer_id peer = 0;
  std::uint32_t credits = 0;
};

/// Gives a worker's unused credits back, because another shard has a task that comes before all
/// tasks that this one could grant.
struct claim_outranked {
  peer_id peer = 0;
  std::uint32_t credits = 0;
  /// The other shard, and the priority of the first task here.
  shard_id by{};
  std::uint8_t priority = 0;
};

struct report_answer {
  sequence seq = 0;
  fencing_token token{};
  errc code = errc::none;
  /// Names what is out of bounds; empty with other codes.
  std::string context{};
  /// Duration of the attempt that this report ended; negative when it ended none.
  duration ran{-1};
  /// Index of the task's queue, if it ended an attempt; see `granted_run`.
  std::uint32_t queue_index = 0;
};

struct reports_answered {
  peer_id peer = 0;
  std::vector<report_answer> answers;
};

/// Sends follow-ups to the shard that they belong to; repeated after each restart until that shard
/// has confirmed them.
struct deliver_follow_ups {
  shard_id to{};
  std::uint64_t number = 0;
  /// That shard has all smaller numbers.
  std::uint64_t answered_below = 0;
  std::vector<enqueue_run> runs;
};

/// Confirms to the shard `from` that its follow-ups were added.
struct follow_ups_taken {
  shard_id from{};
  std::uint64_t number = 0;
  /// The task of each run, in order; empty when they are not known any more.
  std::vector<sequence> tasks{};
};

/// A command for another shard; sent at most once. What is told of permits comes after a sync
/// (`sealed_turn::must_sync`).
struct shard_told {
  shard_id to{};
  std::variant<watch_ends, note_ends, cancel, settings_adopted, ask_permits, give_permits> what;
};

/// A checkpoint is durable.
struct saved_checkpoint {
  sequence seq = 0;
  checkpoint_mark mark;
};

struct checkpoints_saved {
  peer_id peer = 0;
  std::vector<saved_checkpoint> checkpoints;
};

/// The worker no longer holds these leases.
struct leases_lost {
  peer_id peer = 0;
  std::vector<task_lease> leases;
};

struct resumed {
  peer_id peer = 0;
};

/// The worker is to cancel the handler: if it does not complete within the grace, the task ends
/// cancelled.
struct cancel_wanted {
  peer_id peer = 0;
  task_lease lease;
  duration grace{0};
};

/// The lease needs a timer that fires at the deadline.
struct timer_wanted {
  sequence seq = 0;
  fencing_token token{};
  monotonic_time deadline;
};

/// The lease ended; its timer is not needed.
struct timer_dropped {
  fencing_token token{};
};

/// Leases of a queue expired, in one turn.
struct leases_expired {
  queue_address queue;
  std::size_t count = 0;
  /// Number of these whose tasks are dead by the queue's `quarantine_after`.
  std::size_t quarantined = 0;
  /// One of their tasks, its attempt and its worker; a quarantined one if there is one.
  sequence seq = 0;
  std::uint16_t attempt = 0;
  std::string worker;
  /// Why that lease expired.
  std::string reason;
};

/// The breaker of a queue has paused it on this shard. The other shards are to pause it, too.
struct breaker_tripped {
  queue_address queue;
  /// See `queue_info::pause_reason`.
  std::string reason;
};

/// A query for a task, and its purpose.
struct inquiry {
  enum class kind : std::uint8_t {
    status,
    ending,
    repeated_report,
    change,
    explain,
    history,
    audit,
    schedule,
  };

  kind what = kind::status;
  peer_id peer = 0;
  /// Number chosen by the peer for its answer.
  std::uint64_t number = 0;
  /// For a repeated report: its token, and the end that it reports.
  fencing_token token{};
  lease_end_kind reported = lease_end_kind::completed;
  /// For a status: the task's body, which is in the store, is wanted, too.
  bool with_body = false;
};

/// Answers an inquiry. The text is in the outcome record that the entry names, or in `text` if this
/// turn wrote it. The answer to an inquiry for a history includes its first `entry.notes` entries.
struct task_described {
  inquiry why;
  task_view view;
  std::optional<bytes> text;
};

/// Progress of a task that the peer watches.
struct progress_told {
  peer_id peer = 0;
  sequence seq = 0;
  std::uint16_t attempt = 0;
  std::uint8_t percent = 0;
  std::string note;
};

/// The task is not in memory: its fate record, if there is one, is on disk, and is valid unless the
/// task was purged.
struct task_not_here {
  inquiry why;
  sequence seq = 0;
  /// Null when no queue was ever purged.
  std::shared_ptr<const purge_marks> purged{};
};

/// The answer is in the store: commands that operators gave to any shard, or to this one.
struct audit_wanted {
  inquiry why;
  audit_filter filter;
  bool is_of_shard = false;
};

using effect = std::variant<
  enqueue_answered,
  tasks_granted,
  claim_parked,
  work_available,
  credits_revoked,
  claim_outranked,
  reports_answered,
  deliver_follow_ups,
  follow_ups_taken,
  checkpoints_saved,
  leases_lost,
  resumed,
  cancel_wanted,
  change_answered,
  bulk_answered,
  timer_wanted,
  timer_dropped,
  leases_expired,
  breaker_tripped,
  task_described,
  task_explained,
  audit_wanted,
  queue_answered,
  tasks_listed,
  schedule_answered,
  schedules_listed,
  limits_answered,
  limit_keys_met,
  shard_told,
  occurrence_noted,
  progress_told,
  task_not_here>;

} // namespace codeq::core
