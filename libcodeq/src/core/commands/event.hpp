// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/change_event.hpp"
#include "core/commands/command.hpp"
#include "core/commands/encoded_tasks.hpp"
#include "core/commands/queue_totals.hpp"
#include "core/commands/request_answer.hpp"
#include "core/commands/retained_key.hpp"
#include "core/commands/seq_run.hpp"
#include "core/commands/task_checkpoint.hpp"
#include "core/commands/task_note.hpp"
#include "core/commands/task_settings.hpp"
#include "core/commands/task_state.hpp"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

/// What a turn decided, one to one with the records on disk (`schema/record.capnp`). Positions
/// order all events of a shard; replay in that order rebuilds the state.
namespace codeq::core {

/// Which tasks of a segment answer which request.
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
  /// Shard time; the epoch (0) is no deferral.
  timestamp not_before{};
  bool allow_promotion = false;
  std::string group;
  std::string key;
  std::vector<request_mark> requests;
  /// In order of `seq`; concatenated on disk.
  std::vector<encoded_tasks> pieces;
  std::uint32_t count = 0;
  std::uint64_t body_bytes = 0;

  /// One task that is treated by itself, with a record of its own.
  [[nodiscard]] bool is_aside() const noexcept {
    return not_before != timestamp{} || !group.empty() || !key.empty();
  }
};

/// Tasks were leased, attempt + 1 each; task i of the runs has token first_token + i.
struct batch_granted {
  log_position position = 0;
  timestamp at;
  std::shared_ptr<const worker_identity> worker;
  duration lease{0};
  fencing_token first_token{};
  std::vector<seq_run> runs;
};

/// One lease ended, and what its task is from then on. With `forced` also the end of a task that is
/// not leased: the token is then that of its latest lease, or 0.
struct lease_end {
  sequence seq = 0;
  fencing_token token{};
  lease_end_kind kind = lease_end_kind::completed;
  bool charged = true;
  task_state next = task_state::completed;
  /// With `scheduled`: when it is eligible again; with `dead`: when it goes, or nothing.
  timestamp due{};
  bytes text;
  /// With `dead`: the charged attempts that the task had.
  std::uint16_t attempt = 0;
};

/// Leases ended, in the order decided.
struct leases_ended {
  log_position position = 0;
  timestamp at;
  std::vector<lease_end> ends;
  /// Of all these tasks: how long after `at` the record is kept; 0 is for ever.
  duration retention{0};
  /// What histories get of it; not part of the record.
  std::vector<task_note> notes{};
};

/// Follow-ups that other shards must own, kept until those have them.
struct follow_ups_sent {
  log_position position = 0;
  timestamp at;
  std::vector<follow_up> tasks;
};

/// One task of a segment that was touched.
struct task_entry {
  fencing_token token{};
  /// Of the latest end of a lease; 0 when there was none.
  log_position outcome = 0;
  /// The shard's own deferral after a failed attempt; of a dead task the end of its retention; 0 is
  /// none.
  timestamp retry_at{};
  std::uint32_t outcome_index = 0;
  /// In its history so far, those included that are not kept any more. Not in fates.
  std::uint32_t notes = 0;
  std::uint16_t attempt = 0;
  task_state state = task_state::ready;
  lease_end_kind last_end = lease_end_kind::completed;
  /// Lost leases in a row.
  std::uint8_t lost = 0;
  /// Uncharged ends in a row.
  std::uint8_t refunds = 0;
  /// Leased, and cancelled however the lease ends, unless it completes.
  bool cancelling = false;
  /// Purged: its state is `cancelled`, and nobody knows it any more.
  bool gone = false;

  friend bool operator==(const task_entry&, const task_entry&) = default;
};

/// False while the task is as it was enqueued: its segment has its place in the lane.
[[nodiscard]] constexpr bool has_history(const task_entry& entry) noexcept {
  // Redriven, what was failed by force without ever being leased has only the kind of its end.
  bool was_failed = entry.last_end != lease_end_kind::completed;
  return entry.token != fencing_token{} || entry.outcome != 0 || was_failed;
}

/// True while the record of the task's segment must stay: it is live, or dead.
[[nodiscard]] constexpr bool is_kept(const task_entry& entry) noexcept {
  return !is_terminal(entry.state) || entry.state == task_state::dead;
}

/// True when a report of that end under that token was accepted before; anything else that comes
/// late is stale, also under the task's latest token.
[[nodiscard]] constexpr bool
is_repeat(const task_entry& entry, fencing_token token, lease_end_kind reported) noexcept {
  return entry.token == token && entry.state != task_state::leased && entry.last_end == reported;
}

/// Segments that are neighbours, of any lane, as a snapshot knows them; `first` is at or before
/// the first of them, and behind the last one of the block before.
struct segment_block {
  sequence first = 0;
  /// See `segment_block.hpp`. Empty: there is no segment left.
  bytes packed;
};

/// A segment none of whose tasks is live: what became of them.
struct segment_fate {
  sequence first = 0;
  bool aside = false;
  timestamp closed_at;
  timestamp enqueued_at;
  queue_address queue;
  std::uint8_t priority = 0;
  std::uint16_t max_attempts = 0;
  std::vector<task_entry> entries;
  /// How long after `closed_at` it is kept; 0 is for ever.
  duration retention{0};
  /// Not part of the fate: there is a record of the body that goes with the segment.
  bool replaced = false;
  /// See `segment::copied`. Not part of the fate, but of its key.
  bool copied = false;
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

/// A tenant had too many producer sessions: some that were created until then were forgotten. The
/// sessions that several tenants used are those of tenant "".
struct forgotten_sessions {
  std::string tenant;
  timestamp created_until;
};

/// A queue has these settings from then on.
struct queue_configured {
  log_position position = 0;
  timestamp at;
  queue_address queue;
  queue_settings settings;
};

/// What is not in the segments' own records, and what changed of the segments since the last one.
struct snapshot_taken {
  log_position position = 0;
  timestamp at;
  /// Of the queues whose totals changed since the last one, and of new queues.
  std::vector<queue_totals> queues;
  /// Sessions that were used since the last one, in order of their ids.
  std::vector<producer_record> producers;
  /// Sessions that were idle for too long, or one too many, in order of their ids.
  std::vector<producer_id> ended_producers;
  /// As far as ids alone do not tell that they are too old.
  std::vector<forgotten_sessions> forgotten{};
  /// Where segments changed or are new.
  std::vector<segment_block> blocks;
  /// The blocks know all segments below it.
  sequence next_sequence = 0;
  std::vector<segment_fate> closed;
  /// Tasks that are left of some of the closed segments, one by one, ascending. Their fates there
  /// are `gone`.
  std::vector<segment_appended> copied{};
  /// Of the closed segments that had their keys last.
  std::vector<closed_key> closed_keys{};
  /// Grants none of whose tokens is live.
  std::vector<log_position> ended_grants;
  /// Changes since the last snapshot; this one holds what they came to.
  std::vector<log_position> merged_changes;
  /// Records of follow-ups that all other shards have.
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
  snapshot_taken>;

} // namespace codeq::core
