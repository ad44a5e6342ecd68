// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <cstdint>
#include <map>
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

/// Number of tasks that a request adds to a queue with a maximum depth.
struct depth_need {
  std::uint32_t queue = 0;
  std::uint64_t tasks = 0;
};

/// Checks that the queues can take all these runs together, if they have room for so many tasks.
/// Returns those that may not have it. Errors: `too_large` when a tenant would have too many
/// queues, `queue_full` when a request is larger than a queue's maximum depth, or a queue would
/// have too many fairness keys; and those of `check_run_limits`.
[[nodiscard]] result<std::vector<depth_need>>
check_queues(const shard_state& state, const std::vector<enqueue_run>& runs);

/// The refusal of a request because the queue has as many live tasks as it may have over all
/// shards. `is_any_silent`: room of shards that do not answer counts as used.
[[nodiscard]] error queue_full(const queue_state& queue, std::uint64_t added, bool is_any_silent);

/// True when `check_queues` refused a request because of its fairness keys.
[[nodiscard]] bool is_of_fairness_keys(const error& reason);

/// True for an error that `queue_full` made.
[[nodiscard]] bool is_of_max_depth(const error& reason);

/// The name of the queue that is full. @pre is_of_max_depth(reason)
[[nodiscard]] std::string full_queue(const error& reason);

/// The refusal of a request that could not wait until it was known whether the queue has room.
[[nodiscard]] error not_answered(errc code, const queue_state& queue, const std::string& why);

/// True for an error that `not_answered` made.
[[nodiscard]] bool is_not_answered(const error& reason);

/// Checks that the tenants of follow-ups for this shard can have all their queues, and the limits
/// of all follow-ups, as other shards do it too late. Errors: those of `check_queues`.
[[nodiscard]] result<void>
check_new_queues(const shard_state& state, const std::vector<follow_up>& tasks);

/// Checks the configuration that a queue is to have. Errors: those of `check_maxima`,
/// `check_weights` and `check_queue_limits`; `unsupported` for `queue_config::keep_payload`.
[[nodiscard]] result<void> check_config(
  const shard_state& state, const queue_address& queue, const queue_config& config);

/// Checks `max_leased` and `max_depth`. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_maxima(const queue_config& config);

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
