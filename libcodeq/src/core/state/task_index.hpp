// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

namespace codeq::core {

// Every live task is in the index that fits its state; every member of a group but one is gated.

/// Takes the task out of whichever index it is in. Fresh tasks leave their lane by being touched.
void leave_index(shard_state& state, segment& s, sequence seq);

/// Puts a touched task where its state belongs.
void enter_index(shard_state& state, segment& s, sequence seq, const task_entry& entry);

/// Counts tasks of the segment, which is no aside, that nobody has touched: ready by their lane.
void count_fresh(shard_state& state, const segment& s, std::uint32_t count);

/// True when the task keeps its place in its group: it is live, or dead and blocks the group.
[[nodiscard]] bool keeps_place(const segment& s, const task_entry& entry) noexcept;

/// Moves a task of a group, after its state changed, in or out of it and opens or closes the gates
/// that this changes. Nothing when the segment has no group.
void settle_group_of(shard_state& state, segment& s);

} // namespace codeq::core
