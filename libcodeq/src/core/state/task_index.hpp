// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

namespace codeq::core {

// Every live task is in the index for its state; every member of a group but one is gated.

/// Removes the task from its index. Fresh tasks leave their lane by being touched.
void leave_index(shard_state& state, segment& s, sequence seq);

/// Adds a touched task to the index for its state.
void enter_index(shard_state& state, segment& s, sequence seq, const task_entry& entry);

/// Counts untouched tasks of a segment that is not an aside; they are ready through their lane.
void count_fresh(shard_state& state, const segment& s, std::uint32_t count);

/// True when the task keeps its place in its group: it is live, or dead and blocks the group.
[[nodiscard]] bool keeps_place(const segment& s, const task_entry& entry) noexcept;

/// Adds a task to its group or removes it, after its state changed, and opens or closes gates
/// accordingly. Does nothing when the segment has no group.
void settle_group_of(shard_state& state, segment& s);

} // namespace codeq::core
