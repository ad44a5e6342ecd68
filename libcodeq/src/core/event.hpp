// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/command.hpp"
#include "core/encoded_tasks.hpp"
#include "core/task_settings.hpp"
#include "core/task_state.hpp"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

/// What a turn decided, one to one with the records on disk (`schema/record.capnp`). Positions
/// order all events of a shard; replay in that order rebuilds the state.
namespace codeq::core {

/// Place in the shard's one log order: epoch and counter, as in a fencing token.
using log_position = std::uint64_t;

/// The tasks first .. first + count - 1.
struct seq_run {
  sequence first = 0;
  std::uint32_t count = 0;

  friend bool operator==(const seq_run&, const seq_run&) = default;
};

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
  std::vector<request_mark> requests;
  /// In order of `seq`; concatenated on disk.
  std::vector<encoded_tasks> pieces;
  std::uint32_t count = 0;
  std::uint64_t body_bytes = 0;

  /// One task that is treated by itself, with a record of its own.
  [[nodiscard]] bool is_aside() const noexcept {
    return not_before != timestamp{} || !group.empty();
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

/// One lease ended, and what its task is from then on.
struct lease_end {
  sequence seq = 0;
  fencing_token token{};
  lease_end_kind kind = lease_end_kind::completed;
  bool charged = true;
  task_state next = task_state::completed;
  /// With `scheduled`: when it is eligible again.
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
};

/// What was decided about a task outside of its leases. Stored on disk, never renumber.
enum class change_kind : std::uint8_t {
  /// An unleased task ended.
  cancelled = 0,
  /// A leased task is to end with its lease, unless it completes.
  cancel_requested = 1,
  /// An unleased task waits for other times, or for none.
  rescheduled = 2,
  /// A dead task lives again, with all its attempts.
  redriven = 3,
};

struct task_change {
  sequence seq = 0;
  change_kind kind = change_kind::cancelled;
  /// With `rescheduled`: the user's deferral and the shard's own from then on; 0 is none.
  timestamp not_before{};
  timestamp retry_at{};
};

/// Tasks changed, in the order decided.
struct tasks_changed {
  log_position position = 0;
  timestamp at;
  std::vector<task_change> changes;
};

/// One task of a segment that was touched.
struct task_entry {
  fencing_token token{};
  /// Of the latest end of a lease; 0 when there was none.
  log_position outcome = 0;
  /// The shard's own deferral after a failed attempt; 0 is none.
  timestamp retry_at{};
  std::uint32_t outcome_index = 0;
  std::uint16_t attempt = 0;
  task_state state = task_state::ready;
  lease_end_kind last_end = lease_end_kind::completed;
  /// Lost leases in a row.
  std::uint8_t lost = 0;
  /// Uncharged ends in a row.
  std::uint8_t refunds = 0;
  /// Leased, and cancelled however the lease ends, unless it completes.
  bool cancelling = false;

  friend bool operator==(const task_entry&, const task_entry&) = default;
};

/// True when a report of that end under that token was accepted before; anything else that comes
/// late is stale, also under the task's latest token.
[[nodiscard]] constexpr bool
is_repeat(const task_entry& entry, fencing_token token, lease_end_kind reported) noexcept {
  return entry.token == token && entry.state != task_state::leased && entry.last_end == reported;
}

/// The state of a touched segment's tasks.
struct segment_entries {
  sequence first = 0;
  bool aside = false;
  /// The user's deferral of an aside as it is now.
  timestamp not_before{};
  std::vector<task_entry> entries;
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
};

struct queue_totals {
  queue_address queue;
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t lost = 0;

  friend bool operator==(const queue_totals&, const queue_totals&) = default;
};

struct producer_answer {
  std::uint64_t number = 0;
  std::vector<seq_run> tasks;
};

struct producer_record {
  producer_id producer;
  std::uint64_t answered_below = 0;
  timestamp last_used;
  std::vector<producer_answer> answers;
};

/// What is not in the segments' own records, and the segments that changed since the last one.
struct checkpoint_taken {
  log_position position = 0;
  timestamp at;
  std::vector<queue_totals> queues;
  /// Sessions that were used since the last one, in order of their ids.
  std::vector<producer_record> producers;
  /// Sessions that were idle for too long, in order of their ids.
  std::vector<producer_id> ended_producers;
  std::vector<segment_entries> touched;
  std::vector<segment_fate> closed;
  /// Grants none of whose tokens is live.
  std::vector<log_position> ended_grants;
  /// Changes since the last checkpoint; this one holds what they came to.
  std::vector<log_position> merged_changes;
};

using event =
  std::variant<segment_appended, batch_granted, leases_ended, tasks_changed, checkpoint_taken>;

} // namespace codeq::core
