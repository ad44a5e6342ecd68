// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"
#include "protocol/convert.hpp"
#include "security/principal.hpp"

#include <vector>

/// What a token's bearer may ask of a shard; pure. A task of another tenant is answered as one that
/// is not there; whoever names another tenant is told that this is not theirs to name.
namespace codeq::coordinator::access {

using security::principal;

/// How every task that is not there is answered.
[[nodiscard]] error unknown_task();

/// True when tasks of the queue exist for this bearer.
[[nodiscard]] bool may_see(const principal& who, const queue_address& queue);

/// True unless the task is in memory and of a queue that does not exist for this bearer. Of one
/// that is not in memory the reader tells.
[[nodiscard]] bool may_see(const principal& who, core::shard_state& state, sequence seq);

/// Why a node may not connect as what it says it is. Errors: `unauthorized`.
[[nodiscard]] result<void> check(const principal& who, const protocol::node_introduction& node);

// Why a command may not be given, whatever its task is. Errors: `unauthorized`.

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
[[nodiscard]] result<void> check(const principal& who, const core::pause_queue& c);
[[nodiscard]] result<void> check(const principal& who, const core::show_queue& c);
[[nodiscard]] result<void> check(const principal& who, const core::change_many& c);
[[nodiscard]] result<void> check(const principal& who, const core::list_tasks& c);

// Parts of batches, each of which is decided on its own.

/// Takes what the bearer may not see out of a command and returns it.
[[nodiscard]] std::vector<core::lease_beat>
take_foreign(const principal& who, core::shard_state& state, core::heartbeat& c);
[[nodiscard]] std::vector<core::lease_report>
take_foreign(const principal& who, core::shard_state& state, core::report& c);
[[nodiscard]] std::vector<sequence>
take_foreign(const principal& who, core::shard_state& state, core::await_tasks& c);

/// Has a completion refused whose follow-ups are for another tenant.
void refuse_foreign_follow_ups(const principal& who, core::report& c);

} // namespace codeq::coordinator::access
