// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"
#include "core/state/shard_state.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace codeq::core {

/// Changes the state as the event says: total, never fails. A turn has applied its events already
/// when it seals them; recovery and followers call this. @pre events come in order of position
void apply(shard_state& state, const event& e);

// The steps that events are made of; a turn takes the same ones while it decides.

/// Adds an empty segment; tasks follow by `grow_segment`.
segment& add_segment(shard_state& state, const segment_appended& e);

/// Adds `count` fresh tasks to the end of a segment that nobody has touched.
void grow_segment(shard_state& state, segment& s, std::uint32_t count, std::uint64_t body_bytes);

/// Leases a ready (or, in replay, scheduled) task of the segment under the token.
void start_lease(
  shard_state& state, segment& s, sequence seq, fencing_token token, log_position grant);

/// Ends a lease, or by force a live task that is not leased; `index` is the place of the end in its
/// outcome record.
void end_lease(shard_state& state, const lease_end& e, log_position outcome, std::uint32_t index);

/// Carries out a change of the record at that position. @pre it fits the task: a leased one can
/// only be marked
void change_task(shard_state& state, const task_change& change, log_position position);

/// Gives a queue its settings; adds the queue when it is new.
void set_queue(shard_state& state, const queue_address& queue, const queue_settings& settings);

/// Notes which queues were purged, and below which sequence.
void note_purges(shard_state& state, const std::vector<queue_purge>& purges);

/// Keeps a follow-up for another shard, as a part of the record at that position.
void keep_follow_up(shard_state& state, log_position record, const follow_up& task);

/// Makes tasks ready whose time has come, at most `limit`, the earliest first. Returns how many.
std::size_t release_due(
  shard_state& state, timestamp now, std::size_t limit = std::numeric_limits<std::size_t>::max());

/// Restores a lease of a grant that was covered by a snapshot: no attempt is charged again.
void restore_grant(shard_state& state, const batch_granted& e);

/// What the next snapshot is to write of the segments.
[[nodiscard]] std::vector<segment_block> pack_changed(const shard_state& state);

/// Carries out a snapshot. `blocks`: what `pack_changed` made of this very state.
void settle_snapshot(
  shard_state& state, const snapshot_taken& e, const std::vector<segment_block>& blocks);

/// Has the segment packed again by the next snapshot, or closed. @pre it is not packed now
void mark_dirty(shard_state& state, segment& s);

/// Chooses the open task of every group anew; in recovery, when all segments are in their indexes.
void settle_groups(shard_state& state);

} // namespace codeq::core
