// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"
#include "core/state/shard_state.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace codeq::core {

/// Applies an event to the state: total, never fails. A turn has already applied its events when it
/// seals them; recovery and followers call this. @pre events come in order of position
void apply(shard_state& state, const event& e);

// The steps that events consist of; a turn performs the same ones while it decides.

/// Adds an empty segment; tasks are added by `grow_segment`.
segment& add_segment(shard_state& state, const segment_appended& e);

/// Adds `count` fresh tasks to the end of an untouched segment.
void grow_segment(shard_state& state, segment& s, std::uint32_t count, std::uint64_t body_bytes);

/// Leases a ready (or, in replay, scheduled) task of the segment under the token.
void start_lease(
  shard_state& state, segment& s, sequence seq, fencing_token token, log_position grant);

/// Ends a lease or, by force, a live task that is not leased; `index` is the index of the end in
/// its outcome record.
void end_lease(shard_state& state, const lease_end& e, log_position outcome, std::uint32_t index);

/// Applies a change from the record at that position. @pre the task's state allows it: a leased
/// task can only be marked
void change_task(shard_state& state, const task_change& change, log_position position);

/// Sets a queue's settings; adds the queue when it is new.
void set_queue(shard_state& state, const queue_address& queue, const queue_settings& settings);

/// Records which queues were purged, and below which sequence.
void note_purges(shard_state& state, const std::vector<queue_purge>& purges);

/// Stores a follow-up for another shard, as a part of the record at that position.
void keep_follow_up(shard_state& state, log_position record, const follow_up& task);

/// Makes at most `limit` due tasks ready, the earliest first. Returns their number.
std::size_t release_due(
  shard_state& state, timestamp now, std::size_t limit = std::numeric_limits<std::size_t>::max());

/// Restores a lease of a grant that a snapshot covers: no attempt is charged again.
void restore_grant(shard_state& state, const batch_granted& e);

/// The segments that the next snapshot has to write.
[[nodiscard]] std::vector<segment_block> pack_changed(const shard_state& state);

/// Applies a snapshot. `blocks`: the result of `pack_changed` for this state.
void settle_snapshot(
  shard_state& state, const snapshot_taken& e, const std::vector<segment_block>& blocks);

/// Marks the segment to be packed, or closed, by the next snapshot. @pre it is not packed now
void mark_dirty(shard_state& state, segment& s);

} // namespace codeq::core
