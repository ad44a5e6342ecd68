// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/queue_totals.hpp"
#include "core/commands/request_answer.hpp"
#include "core/commands/seq_run.hpp"
#include "core/commands/task_note.hpp"

#include <cstdint>
#include <vector>

/// Decisions of a turn about tasks, other than enqueues and ends of leases.
namespace codeq::core {

/// A change of a task that was not made by its lease. Stored on disk, never renumber.
enum class change_kind : std::uint8_t {
  /// An unleased task was cancelled.
  cancelled = 0,
  /// A leased task is to be cancelled when its lease ends, unless it completes.
  cancel_requested = 1,
  /// The times that an unleased task waits for have changed or were removed.
  rescheduled = 2,
  /// A dead task is live again, with all its attempts.
  redriven = 3,
  /// An unleased task was removed for good.
  purged = 4,
  /// An unleased task got another body.
  body_replaced = 5,
};

struct task_change {
  sequence seq = 0;
  change_kind kind = change_kind::cancelled;
  /// With `rescheduled`: the new deferral of the user and of the shard; 0: none.
  timestamp not_before{};
  timestamp retry_at{};
  /// With `body_replaced`: the body and its size. The record of the change contains only the size.
  bytes body{};
  std::uint64_t body_bytes = 0;
  /// With `purged`: number of entries in the task's history. Not part of the record.
  std::uint32_t notes = 0;
};

/// Changed tasks, in the order decided.
struct tasks_changed {
  log_position position = 0;
  timestamp at;
  std::vector<task_change> changes;
  std::vector<queue_purge> purges{};
  std::vector<answered_request> answers{};
  /// Entries for the tasks' histories; not part of the record.
  std::vector<task_note> notes{};
};

} // namespace codeq::core
