// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

/// Which outcome records have to stay because a live task's latest text is in them, whatever their
/// retention says.
namespace codeq::core {

/// True when the text of the task's latest end has to stay with it: an ended task's is kept for its
/// retention only, a dead task's was copied.
[[nodiscard]] bool holds_outcome(const task_entry& entry);

/// After the entry changed.
void hold_outcome(shard_state& state, const task_entry& entry);

/// Before the entry changes.
void release_outcome(shard_state& state, const task_entry& entry);

/// Notes what a snapshot found held. The cost is that of what changed since the one before.
void settle_holds(shard_state& state);

} // namespace codeq::core
