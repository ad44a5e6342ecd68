// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// The limits that queues give to their tasks. A task has them from its enqueue on, as if it had
/// named them, after its own; a later change of the queue does not concern it.
namespace codeq::core {

/// The limits of a task of the run, by its index in it: its own, and those of its queue that it
/// does not name. Tasks that are never refused, follow-ups and those of schedules, go without those
/// of the queue that would be too many or have too long a key.
[[nodiscard]] std::vector<task_limit>
limits_of(const shard_state& state, const enqueue_run& r, std::size_t task);

/// Checks that the tasks of the run may have their limits, and those of their queue, on this shard.
/// Errors: `unknown_limit`; `queue_full` for a tenant with too many limit keys in use; `too_large`
/// for too many limits of one task, or a header that is no key.
[[nodiscard]] result<void> check_run_limits(const shard_state& state, const enqueue_run& r);

/// Checks that a queue may give these limits to its tasks; those that it gives already are not
/// checked. Errors: `unknown_limit`.
[[nodiscard]] result<void> check_queue_limits(
  const shard_state& state, const queue_address& queue, const std::vector<queue_limit>& given);

/// Checks that no queue gives the limit to its tasks: without it, all new tasks of such a queue
/// would be refused. The text of the error names the queues. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_not_given(const shard_state& state, const limit_address& limit);

/// As `codeqctl queue set` takes them, for people: for example "smtp, mail:header=customer".
[[nodiscard]] std::string to_text(const std::vector<queue_limit>& given);

} // namespace codeq::core
