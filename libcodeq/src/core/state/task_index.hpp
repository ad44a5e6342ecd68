// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <optional>
#include <vector>

namespace codeq::core {

// Every live task is in the index for its state; every member of a group but one is gated.

/// Removes the task from its index. Fresh tasks leave their lane by being touched.
void leave_index(shard_state& state, segment& s, sequence seq);

/// Adds a touched task to the index for its state.
void enter_index(shard_state& state, segment& s, sequence seq, const task_entry& entry);

/// Adds a ready task to its lane, to which it returns unless it is fresh. A part of `enter_index`.
void enter_lane(shard_state& state, segment& s, sequence seq, bool returns);

/// Removes a ready task from its lane. @pre it is not held back
void leave_lane(shard_state& state, segment& s, sequence seq, bool was_returned);

/// Counts untouched tasks of a segment that is not an aside; they are ready through their lane. Its
/// first ones, or all of them, also add the segment to the lane.
void count_fresh(shard_state& state, const segment& s, std::uint32_t count);

/// Removes a closed segment that is not an aside from its lane: a task before it may wait for long.
void leave_closed(shard_state& state, const segment& s);

/// True when the task keeps its place in its group: it is live, or dead and blocks the group.
[[nodiscard]] bool keeps_place(const segment& s, const task_entry& entry) noexcept;

/// True when a dead task of the segment blocks its group.
[[nodiscard]] bool blocks_group(const segment& s) noexcept;

/// True when the scheduled task waits for its next attempt, rather than for its producer's time.
[[nodiscard]] bool waits_for_retry(const segment& s, const task_entry& entry) noexcept;

/// The task of the segment's group that is not gated; empty when the group has no task. @pre the
/// segment has a group
[[nodiscard]] std::optional<sequence> open_member(const shard_state& state, const segment& s);

/// Adds a task to its group or removes it, after its state changed, and opens or closes gates
/// accordingly. Does nothing when the segment has no group.
void settle_group_of(shard_state& state, segment& s);

/// Fills the index of groups, and chooses the open task of each. Called by recovery when all other
/// indexes are filled. `members`: all tasks that keep their place, by the hash of their group;
/// `open`: those of them that are not gated.
void fill_groups(
  shard_state& state, std::vector<number_pair> members, std::vector<number_pair> open);

} // namespace codeq::core
