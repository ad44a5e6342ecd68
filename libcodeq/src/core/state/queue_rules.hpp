// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <vector>

namespace codeq::core {

// What the settings and limits of queues mean for those who use them.

/// The settings of the run's tasks: what the producer left to the queue is as the queue has it by
/// now. Only a lease that is left to it stays open, as 0: the queue's counts at each grant.
[[nodiscard]] task_settings settings_of(const shard_state& state, const enqueue_run& run);

/// How long a grant of the segment's tasks lasts: the claim's wish, else the task's lease, else the
/// queue's, within the limits. @pre the segment is of this shard
[[nodiscard]] duration effective_lease(const shard_state& state, const segment& s, duration wish);

/// Whether the queues can take all these runs together. Errors: a tenant would have too many queues
/// (`too_large`), or a queue too many live tasks (`queue_full`).
[[nodiscard]] result<void>
check_queues(const shard_state& state, const std::vector<enqueue_run>& runs);

/// Whether the tenants of follow-ups that this shard owns can have all their queues. Errors:
/// `too_large`. Other shards decide about their own, when it is too late to refuse.
[[nodiscard]] result<void>
check_new_queues(const shard_state& state, const std::vector<follow_up>& tasks);

/// The refusal of a queue for which its tenant has no room.
[[nodiscard]] error too_many_queues(const queue_address& queue);

} // namespace codeq::core
