// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/task_checkpoint.hpp"
#include "core/state/shard_state.hpp"

/// The checkpoints in a shard's state. A turn performs the same steps as the event.
namespace codeq::core {

/// True when the save replaces what the shard knows: it is a later one of the same attempt, or the
/// first one of a newer attempt. @pre the attempt is the task's latest
[[nodiscard]] bool
is_newer_checkpoint(const shard_state& state, sequence seq, const checkpoint_mark& mark);

/// The number after the latest save of that attempt.
[[nodiscard]] std::uint32_t
next_checkpoint_number(const shard_state& state, sequence seq, fencing_token attempt);

void set_checkpoint(shard_state& state, sequence seq, const checkpoint_mark& mark);
void forget_checkpoint(shard_state& state, sequence seq);

} // namespace codeq::core
