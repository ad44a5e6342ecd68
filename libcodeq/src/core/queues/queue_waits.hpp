// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include "core/state/shard_state.hpp"

namespace codeq::core {

/// Why a ready task of the queue that no limit holds back is not leased, judged by the queue and
/// its workers.
[[nodiscard]] task_reason reason_of_ready(const shard_state& state, const queue_state& queue);

/// True when the reason is that all slots are taken, so that fairness keys wait for their turns.
[[nodiscard]] constexpr bool are_slots_taken(task_reason reason) noexcept {
  return reason == task_reason::no_free_slots || reason == task_reason::queue_at_max_leased;
}

/// Accounts for all tasks of the queue that wait, from its counters: the reasons sum to the number
/// of its live tasks that are not leased. A ready task with a limit counts as limited once a turn
/// that tried to lease it has held it back. Looks at no task, at most at
/// `limits::explained_keys_seen_max` limit keys, and at those fairness keys that have used their
/// turns up.
[[nodiscard]] queue_explanation
explain_queue(const shard_state& state, const queue_address& queue, monotonic_time now);

} // namespace codeq::core
