// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::core {

// The effects of queue settings and limits.

/// The settings of the run's tasks: fields left to the queue take its current values. Only the
/// lease stays open, as 0: the queue's lease is looked up at each grant.
[[nodiscard]] task_settings settings_of(const shard_state& state, const enqueue_run& run);

/// The lease duration of a grant of the segment's tasks: the one that the claim requests, else the
/// task's, else the queue's, within the limits. @pre the segment belongs to this shard
[[nodiscard]] duration effective_lease(const shard_state& state, const segment& s, duration wish);

/// Checks that the queues can take all these runs together. Errors: `too_large` when a tenant would
/// have too many queues, `queue_full` when a queue would have too many live tasks or fairness
/// keys, and those of `check_run_limits`.
[[nodiscard]] result<void>
check_queues(const shard_state& state, const std::vector<enqueue_run>& runs);

/// True when `check_queues` refused a request because of its fairness keys.
[[nodiscard]] bool is_of_fairness_keys(const error& reason);

/// The shard's part of the queue's maximum depth, when `check_queues` refused a request because of
/// it.
[[nodiscard]] std::optional<std::uint64_t> exceeded_depth(const error& reason);

/// Checks that the tenants of follow-ups for this shard can have all their queues, and the limits
/// of all follow-ups, as other shards do it too late. Errors: those of `check_queues`.
[[nodiscard]] result<void>
check_new_queues(const shard_state& state, const std::vector<follow_up>& tasks);

/// Checks the configuration that a queue is to have. Errors: those of `check_maxima`,
/// `check_weights` and `check_queue_limits`; `unsupported` for `queue_config::keep_payload`.
[[nodiscard]] result<void> check_config(
  const shard_state& state, const queue_address& queue, const queue_config& config);

/// Checks `max_leased`, and the part of `max_depth` that one of so many shards has. Errors:
/// `invalid_argument`. @pre shards > 0
[[nodiscard]] result<void> check_maxima(const queue_config& config, std::uint32_t shards);

/// Checks the number of the weights that a queue is to have. Errors: `invalid_argument`.
[[nodiscard]] result<void>
check_weights(const std::map<std::string, std::uint32_t>& fairness_weights);

/// The error for a queue for which its tenant has no room.
[[nodiscard]] error too_many_queues(const queue_address& queue);

/// True for an error that `too_many_queues` made.
[[nodiscard]] bool is_too_many_queues(const error& reason);

/// The differences of two configurations of a shard's part of a queue, for people: for example
/// "max-attempts 5 -> 3, lease 10000ms -> 30000ms".
[[nodiscard]] std::string
describe_change(const queue_config& before, const queue_config& after);

} // namespace codeq::core
