// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/commands/event.hpp"
#include "core/commands/operator_effect.hpp"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What a turn leads to outside the shard. No effect may be carried out before the turn's events,
/// and those of all turns before it, are durable.
namespace codeq::core {

/// Answers an enqueue: the tasks in the order of the request and what became of each, or why
/// nothing was done.
struct enqueue_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  std::vector<seq_run> tasks;
  /// One per task, or empty when all were created.
  std::vector<enqueue_kind> kinds{};
  /// An error when nothing was done.
  result<void> allowed{};
};

/// Consecutive tasks of one segment under consecutive tokens.
struct granted_run {
  sequence first = 0;
  std::uint32_t count = 0;
  fencing_token first_token{};
  /// The segment that holds their bodies.
  sequence segment = 0;
  bool aside = false;
  /// The one task of an aside has another body than at its enqueue, in a record of its own.
  bool replaced = false;
  /// One per task, or empty when all are at attempt 1.
  std::vector<std::uint16_t> attempts;
  queue_address queue;
  std::uint8_t priority = 0;
  duration lease{0};
  std::uint16_t max_attempts = 0;
  timestamp enqueued_at;
  std::string group{};
  std::string key{};
  /// Of the tasks that have one, in order; the bytes are added by whoever reads them.
  std::vector<lease_checkpoint> checkpoints{};
};

/// Hands tasks to a worker, at most `limits::grant_bytes_max` of bodies.
struct tasks_granted {
  peer_id peer = 0;
  /// The worker holds these leases already but does not know; they use no credits.
  bool redelivered = false;
  /// More is ready here for this worker than it has credits.
  bool more = false;
  std::vector<granted_run> runs;
  /// The room for bytes that the tasks took; nothing when they are redelivered.
  std::uint64_t bytes = 0;
};

/// A claim could not be used up: nothing more is ready here for this worker, its credits wait.
struct claim_parked {
  peer_id peer = 0;
};

/// Work is ready for a worker that has no credits here; said once until it claims again.
struct work_available {
  peer_id peer = 0;
};

struct credits_revoked {
  peer_id peer = 0;
  std::uint32_t credits = 0;
};

struct report_answer {
  sequence seq = 0;
  fencing_token token{};
  errc code = errc::none;
  /// Says what is out of bounds; empty with the codes that everybody knows.
  std::string context{};
  /// How long the attempt took that ended with this; negative when none did.
  duration ran{-1};
};

struct reports_answered {
  peer_id peer = 0;
  std::vector<report_answer> answers;
};

/// Hands follow-ups to the shard that must own them; said again after each restart until that shard
/// has confirmed them.
struct deliver_follow_ups {
  shard_id to{};
  std::uint64_t number = 0;
  /// That shard has all smaller numbers.
  std::uint64_t answered_below = 0;
  std::vector<enqueue_run> runs;
};

/// Tells the shard `from` that its follow-ups are here.
struct follow_ups_taken {
  shard_id from{};
  std::uint64_t number = 0;
};

/// What a handler saved is durable.
struct saved_checkpoint {
  sequence seq = 0;
  checkpoint_mark mark;
};

struct checkpoints_saved {
  peer_id peer = 0;
  std::vector<saved_checkpoint> checkpoints;
};

/// These leases are not the worker's any more.
struct leases_lost {
  peer_id peer = 0;
  std::vector<task_lease> leases;
};

struct resumed {
  peer_id peer = 0;
};

/// The worker is to stop its handler: what does not complete within the grace ends cancelled.
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

/// Why somebody asks about a task.
struct inquiry {
  enum class kind : std::uint8_t { status, ending, repeated_report, change, explain, history };

  kind what = kind::status;
  peer_id peer = 0;
  /// Of whoever asks for an answer by number.
  std::uint64_t number = 0;
  /// Of a repeated report: its token, and the end that it reports.
  fencing_token token{};
  lease_end_kind reported = lease_end_kind::completed;
  /// Of a status: the task's body is wanted too, which the store has.
  bool with_body = false;
};

/// Answers an inquiry. The text stands in the outcome record that the entry names; `text` holds it
/// already when this very turn wrote it. An inquiry for a history is told `entry.notes` of them.
struct task_described {
  inquiry why;
  task_view view;
  std::optional<bytes> text;
};

/// A task that the peer watches has not ended; its handler is that far.
struct progress_told {
  peer_id peer = 0;
  sequence seq = 0;
  std::uint16_t attempt = 0;
  std::uint8_t percent = 0;
  std::string note;
};

/// The task is not in memory: its fate, if it has one, is on disk, and counts unless it was purged.
struct task_not_here {
  inquiry why;
  sequence seq = 0;
  /// Null when no queue was ever purged.
  std::shared_ptr<const purge_marks> purged{};
};

using effect = std::variant<
  enqueue_answered,
  tasks_granted,
  claim_parked,
  work_available,
  credits_revoked,
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
  task_described,
  task_explained,
  queue_answered,
  tasks_listed,
  progress_told,
  task_not_here>;

} // namespace codeq::core
