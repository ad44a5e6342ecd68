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

/// What a turn decided about tasks outside of their enqueue and their leases.
namespace codeq::core {

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
  /// A task that is not leased is known to nobody any more.
  purged = 4,
  /// An unleased task has another body.
  body_replaced = 5,
};

struct task_change {
  sequence seq = 0;
  change_kind kind = change_kind::cancelled;
  /// With `rescheduled`: the user's deferral and the shard's own from then on; 0 is none.
  timestamp not_before{};
  timestamp retry_at{};
  /// With `body_replaced`: the body and its size. The record of the change keeps only the size.
  bytes body{};
  std::uint64_t body_bytes = 0;
  /// With `purged`: how many notes its history had. Not part of the record.
  std::uint32_t notes = 0;
};

/// Tasks changed, in the order decided.
struct tasks_changed {
  log_position position = 0;
  timestamp at;
  std::vector<task_change> changes;
  std::vector<queue_purge> purges{};
  std::vector<answered_request> answers{};
  /// What histories get of it; not part of the record.
  std::vector<task_note> notes{};
};

} // namespace codeq::core
