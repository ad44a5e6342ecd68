// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"
#include "core/state/shard_state.hpp"

#include <vector>

/// How queues leave. A queue exists as long as it has live or dead tasks, records of ended ones, or
/// settings of its own; the next snapshot removes it, with its totals. When its last tasks were
/// purged, their records may still be on disk. A mark hides them until they expire.
namespace codeq::core {

/// A new queue takes over the mark of the removed queue that had its name.
void take_mark(shard_state& state, queue_state& queue);

/// Records that all tasks below that sequence were purged. @pre `below` is above the last mark
void mark_purged(queue_totals& totals, sequence below);

/// Records how long the records of closed segments are kept. May be called again for the same ones.
void note_records(shard_state& state, const std::vector<segment_fate>& closed);

/// Records when the queues with changed totals that have no tasks and settings are to go.
void list_queue_ends(shard_state& state);

/// The same for all queues and marks, after a recovery.
void list_all_queue_ends(shard_state& state);

/// Lets the next snapshot remove what is to go by now.
void want_queue_ends(shard_state& state);

/// Names the queues and marks that the snapshot removes.
void note_queue_ends(shard_state& state, snapshot_taken& c);

/// Removes them. @pre the snapshot's closed segments were removed, and nothing refers to the queues
void remove_queues(shard_state& state, const snapshot_taken& c);

/// Adds the mark of a removed queue, as recovered.
void restore_mark(shard_state& state, const queue_address& queue, const purge_mark& mark);

/// Fills `shard_state::purged` from the recovered totals and marks.
void restore_purges(shard_state& state);

/// Sets how long the records of the queue's ended tasks are kept, when its totals were written by a
/// version that did not record that.
void assume_records(shard_state& state, queue_totals& totals);

} // namespace codeq::core
