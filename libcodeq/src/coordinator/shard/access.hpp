// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"
#include "protocol/convert.hpp"
#include "protocol/schedule_convert.hpp"
#include "security/principal.hpp"

#include <vector>

/// Access rights of a token's bearer at a shard; pure. A task of another tenant is treated as
/// unknown; a request that names another tenant is refused.
namespace codeq::coordinator::access {

using security::principal;

/// The error for every unknown task.
[[nodiscard]] error unknown_task();

/// True when the bearer may know of tasks of the queue.
[[nodiscard]] bool may_see(const principal& who, const queue_address& queue);

/// False when the task is in memory and belongs to a queue that the bearer may not see. For tasks
/// that are not in memory the reader checks this.
[[nodiscard]] bool may_see(const principal& who, core::shard_state& state, sequence seq);

/// Checks whether a node may connect with the role and queues of its hello. Errors: `unauthorized`.
[[nodiscard]] result<void> check(const principal& who, const protocol::node_introduction& node);

/// Checks whether a worker may claim from the queue. Errors: `unauthorized`.
[[nodiscard]] result<void> check_claim(const principal& who, const queue_address& queue);

/// Checks whether the bearer may read counts and settings. Errors: `unauthorized`.
[[nodiscard]] result<void> check_inspector(const principal& who);

/// Limits prefixes that a worker claims from to what the bearer may claim: where it may not claim
/// from every queue, the prefix is replaced by the queues of the token that it matches. Errors:
/// `unauthorized` when there is none.
[[nodiscard]] result<void> narrow(
  const principal& who, std::vector<queue_address>& queues, std::vector<queue_address>& prefixes);

// Check whether a command is allowed, regardless of its task. Errors: `unauthorized`.

[[nodiscard]] result<void> check(const principal& who, const core::enqueue& c);
[[nodiscard]] result<void> check(const principal& who, const core::describe_task& c);
[[nodiscard]] result<void> check(const principal& who, const core::cancel& c);
[[nodiscard]] result<void> check(const principal& who, const core::promote& c);
[[nodiscard]] result<void> check(const principal& who, const core::explain_task& c);
[[nodiscard]] result<void> check(const principal& who, const core::tell_history& c);
[[nodiscard]] result<void> check(const principal& who, const core::redrive& c);
[[nodiscard]] result<void> check(const principal& who, const core::purge& c);
[[nodiscard]] result<void> check(const principal& who, const core::force& c);
[[nodiscard]] result<void> check(const principal& who, const core::configure_queue& c);
[[nodiscard]] result<void> check(const principal& who, const core::weigh_keys& c);
[[nodiscard]] result<void> check(const principal& who, const core::pause_queue& c);
[[nodiscard]] result<void> check(const principal& who, const core::show_queue& c);
[[nodiscard]] result<void> check(const principal& who, const core::change_many& c);
[[nodiscard]] result<void> check(const principal& who, const core::list_tasks& c);
[[nodiscard]] result<void> check(const principal& who, const core::tell_audit& c);
[[nodiscard]] result<void> check(const principal& who, const protocol::schedule_question& asked);
[[nodiscard]] result<void> check(const principal& who, const core::set_limit& c);
[[nodiscard]] result<void> check(const principal& who, const core::close_limit_key& c);
[[nodiscard]] result<void> check(const principal& who, const core::list_limits& c);
[[nodiscard]] result<void> check(const principal& who, const core::list_limit_keys& c);

// For batches, whose parts are decided individually.

/// Removes the parts that the bearer may not access from a command and returns them.
[[nodiscard]] std::vector<core::lease_beat>
take_foreign(const principal& who, core::shard_state& state, core::heartbeat& c);
[[nodiscard]] std::vector<core::lease_report>
take_foreign(const principal& who, core::shard_state& state, core::report& c);
[[nodiscard]] std::vector<sequence>
take_foreign(const principal& who, core::shard_state& state, core::await_tasks& c);

/// Refuses completions with follow-ups for another tenant, or for a queue that a token which also
/// enqueues does not name.
void refuse_foreign_follow_ups(const principal& who, core::report& c);

} // namespace codeq::coordinator::access
