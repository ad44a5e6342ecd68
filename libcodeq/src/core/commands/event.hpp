// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/commands/audit_entry.hpp"
#include "core/commands/change_event.hpp"
#include "core/commands/command.hpp"
#include "core/commands/encoded_tasks.hpp"
#include "core/commands/fairness_mark.hpp"
#include "core/commands/lease_end_kind.hpp"
#include "core/commands/permit_command.hpp"
#include "core/commands/queue_settings.hpp"
#include "core/commands/queue_totals.hpp"
#include "core/commands/request_answer.hpp"
#include "core/commands/retained_key.hpp"
#include "core/commands/schedule_event.hpp"
#include "core/commands/seq_run.hpp"
#include "core/commands/task_checkpoint.hpp"
#include "core/commands/task_note.hpp"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

/// The decisions of a turn; each event is one record on disk (`schema/record.capnp`). Positions
/// order all events of a shard; replaying them in that order rebuilds the state.
namespace codeq::core {

/// The tasks of a segment that belong to a request.
struct request_mark {
  request_id request;
  std::uint32_t offset = 0;
  std::uint32_t count = 0;
};

/// Tasks were enqueued into one lane.
struct segment_appended {
  log_position position = 0;
  timestamp at;
  sequence first = 0;
  queue_address queue;
  std::uint8_t priority = 0;
  task_settings settings;
  /// Shard time; the epoch (0) means no deferral.
  timestamp not_before{};
  bool allow_promotion = false;
  std::string group;
  std::string key;
  std::vector<request_mark> requests;
  /// In order of `seq`; concatenated on disk.
  std::vector<encoded_tasks> pieces;
  std::uint32_t count = 0;
  std::uint64_t body_bytes = 0;
  fairness_mark fairness{};
  std::vector<task_limit> limits{};

  /// True for a segment of a single task that is deferred, has a group, a key or limits.
  [[nodiscard]] bool is_aside() const noexcept {
    return not_before != timestamp{} || !group.empty() || !key.empty() || !limits.empty();
  }
};

/// Tasks were leased, and the attempt of each was incremented; task i of the runs has the token
/// first_token + i.
struct batch_granted {
  log_position position = 0;
  timestamp at;
  std::shared_ptr<const worker_identity> worker;
  duration lease{0};
  fencing_token first_token{};
  std::vector<seq_run> runs;
};

/// The end of a lease, and the task's state after it. With `forced` also the end of a task that was
/// not leased: the token is then that of its latest lease, or 0.
struct lease_end {
  sequence seq = 0;
  fencing_token token{};
  lease_end_kind kind = lease_end_kind::completed;
  bool charged = true;
  task_state next = task_state::completed;
  /// With `scheduled`: when it is eligible again. With `dead`: when it is removed, if ever.
  timestamp due{};
  bytes text;
  /// With `dead`: number of the task's charged attempts.
  std::uint16_t attempt = 0;
  /// With a completion that is in no history: the lease's grant is `leases_ended::grants[grant -
  /// 1]`; 0: not recorded.
  std::uint16_t grant = 0;
};

/// When leases that ended were granted, and to whom.
struct ended_grant {
  timestamp at;
  /// Name of the worker.
  std::string worker;

  friend bool operator==(const ended_grant&, const ended_grant&) = default;
};

/// Ended leases, in the order decided.
struct leases_ended {
  log_position position = 0;
  timestamp at;
  std::vector<lease_end> ends;
  /// For all these tasks: how long after `at` the record is kept; 0: for ever.
  duration retention{0};
  /// Entries for the tasks' histories; not part of the record.
  std::vector<task_note> notes{};
  /// The grants that `lease_end::grant` refers to.
  std::vector<ended_grant> grants{};
};

/// Follow-ups that belong to other shards, kept until those have added them.
struct follow_ups_sent {
  log_position position = 0;
  timestamp at;
  std::vector<follow_up> tasks;
};

/// State of one task in a touched segment.
struct task_entry {
  fencing_token token{};
  /// Position of the outcome of the latest end of a lease; 0: none.
  log_position outcome = 0;
  /// The shard's deferral after a failed attempt; for a dead task the end of its retention; 0:
  /// none.
  timestamp retry_at{};
  std::uint32_t outcome_index = 0;
  /// Number of entries in its history so far, including those that are no longer kept. Not used in
  /// fates.
  std::uint32_t notes = 0;
  std::uint16_t attempt = 0;
  task_state state = task_state::ready;
  lease_end_kind last_end = lease_end_kind::completed;
  /// Number of lost leases in a row.
  std::uint8_t lost = 0;
  /// Number of uncharged ends in a row.
  std::uint8_t refunds = 0;
  /// The task is leased and will be cancelled when the lease ends, unless it completes.
  bool cancelling = false;
  /// The task was purged, or copied out of this segment; its state here is `cancelled`.
  bool gone = false;

  friend bool operator==(const task_entry&, const task_entry&) = default;
};

/// False while the task is unchanged since its enqueue: its segment then represents it in the lane.
[[nodiscard]] constexpr bool has_history(const task_entry& entry) noexcept {
  // A task that was failed by force without ever being leased, and then redriven, has only
  // `last_end`.
  bool was_failed = entry.last_end != lease_end_kind::completed;
  return entry.token != fencing_token{} || entry.outcome != 0 || was_failed;
}

/// True while the record of the task's segment must be kept: the task is live or dead.
[[nodiscard]] constexpr bool is_kept(const task_entry& entry) noexcept {
  return !is_terminal(entry.state) || entry.state == task_state::dead;
}

/// True when a report of that end under that token was accepted before; any other late report is
/// stale, even under the task's latest token.
[[nodiscard]] constexpr bool
is_repeat(const task_entry& entry, fencing_token token, lease_end_kind reported) noexcept {
  return entry.token == token && entry.state != task_state::leased && entry.last_end == reported;
}

/// Adjacent segments, of any lane, as of a snapshot. `first` is at or before the first of them, and
/// after the last one of the previous block.
struct segment_block {
  sequence first = 0;
  /// See `segment_block.hpp`. Empty: no segment is left.
  bytes packed;
};

/// The final states of the tasks of a segment in which no task is live.
struct segment_fate {
  sequence first = 0;
  bool aside = false;
  timestamp closed_at;
  timestamp enqueued_at;
  queue_address queue;
  std::uint8_t priority = 0;
  std::uint16_t max_attempts = 0;
  std::vector<task_entry> entries;
  /// How long the record is kept after `closed_at`; 0: for ever.
  duration retention{0};
  /// Names of an aside; else empty.
  std::string group{};
  std::string key{};
  /// Not part of the fate record: a replaced body's record is removed together with the segment.
  bool replaced = false;
  /// See `segment::copied`. Not part of the fate record, but of its key.
  bool copied = false;
  fairness_mark fairness{};
  std::vector<task_limit> limits{};
};

struct producer_answer {
  std::uint64_t number = 0;
  request_answer answer;
};

struct producer_record {
  producer_id producer;
  std::uint64_t answered_below = 0;
  timestamp last_used;
  std::vector<producer_answer> answers;
  std::string tenant;
};

/// A tenant had too many producer sessions, and some of them were forgotten; `created_until` is the
/// latest creation time of these. Sessions that several tenants used belong to tenant "".
struct forgotten_sessions {
  std::string tenant;
  timestamp created_until;
};

/// The settings of a queue from now on.
struct queue_configured {
  log_position position = 0;
  timestamp at;
  queue_address queue;
  queue_settings settings;
};

/// The state that is not in the segments' own records, and the changes of segments since the last
/// snapshot.
struct snapshot_taken {
  log_position position = 0;
  timestamp at;
  /// Totals of new queues, and of queues whose totals changed since the last snapshot.
  std::vector<queue_totals> queues;
  /// In the order of their ends, as the next.
  std::vector<removed_queue> removed_queues{};
  /// Removed queues whose marks are not needed any more.
  std::vector<queue_address> expired_marks{};
  /// Sessions that were used since the last snapshot, in order of their ids.
  std::vector<producer_record> producers;
  /// Sessions that were idle for too long or for which there was no room, in order of their ids.
  std::vector<producer_id> ended_producers;
  /// Left out once the ids alone show that such sessions are too old.
  std::vector<forgotten_sessions> forgotten{};
  /// Blocks with changed or new segments.
  std::vector<segment_block> blocks;
  /// The blocks contain all segments below this sequence.
  sequence next_sequence = 0;
  std::vector<segment_fate> closed;
  /// The survivors of some closed segments, one task each, ascending. In the fates of those
  /// segments they are `gone`.
  std::vector<segment_appended> copied{};
  /// Keys of closed segments whose task had the key last.
  std::vector<closed_key> closed_keys{};
  /// Grants without live tokens.
  std::vector<log_position> ended_grants;
  /// Change records since the last snapshot; this snapshot contains their effects.
  std::vector<log_position> merged_changes;
  /// Follow-up records that all other shards have confirmed.
  std::vector<log_position> delivered_follow_ups;
};

using event = std::variant<
  segment_appended,
  batch_granted,
  leases_ended,
  tasks_changed,
  queue_configured,
  follow_ups_sent,
  checkpoints_changed,
  commands_audited,
  schedule_changed,
  limit_defined,
  limit_keys_changed,
  permits_changed,
  snapshot_taken>;

} // namespace codeq::core
