// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

/// Which outcome records must be kept because a live task's latest text is in them, regardless of
/// their retention.
namespace codeq::core {

/// True when the text of the task's latest end must be kept with it. The text of an ended task is
/// kept for its retention only; that of a dead task was copied.
[[nodiscard]] bool holds_outcome(const task_entry& entry);

/// Call after the entry has changed.
void hold_outcome(shard_state& state, const task_entry& entry);

/// Call before the entry changes.
void release_outcome(shard_state& state, const task_entry& entry);

/// Records the outcomes held at a snapshot. The cost is proportional to the changes since the
/// previous one.
void settle_holds(shard_state& state);

} // namespace codeq::core
