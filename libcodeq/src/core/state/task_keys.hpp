// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <optional>

/// Keys of tasks: who has them, durable as a function of the records of segments, of changes and of
/// closed keys. Shared by turns, `apply` and recovery.
namespace codeq::core {

/// @pre the segment has a key
[[nodiscard]] key_id key_id_of(const segment& s);

/// The key of a name whose queue is known; adds the queue when it is new.
[[nodiscard]] key_id key_id_of(shard_state& state, const task_key& name);

[[nodiscard]] task_key name_of(const shard_state& state, const key_id& id);

/// The task that has the key, or nothing; closed ones as far as they were recalled. Adds no queue.
[[nodiscard]] std::optional<key_holder>
owner_of(const shard_state& state, const task_key& name, timestamp now);

/// As above, of the segment's key. @pre the segment has one
[[nodiscard]] std::optional<key_holder>
owner_of(const shard_state& state, const segment& s, timestamp now);

/// Makes the segment's task the last one that took its key, at that place in the log. Nothing when
/// it has none.
void hold_key(shard_state& state, segment& s, log_position since);

/// Takes the key from a task that goes for good: it falls back to the one that had it before, if
/// that one is still known. Nothing when the segment has none; may be called again.
void release_key(shard_state& state, const segment& s);

/// Keeps the key of a closed task as long as `key_index` has to.
void retain_key(shard_state& state, const task_key& name, const retained_key& record);

/// Takes what the store holds of keys, until the turn ends. Adds no queue: without one nobody has
/// the key.
void recall(shard_state& state, const recall_keys& c);

/// Whether a task that has not ended has the key. Adds no queue.
[[nodiscard]] bool has_live_owner(shard_state& state, const task_key& name);

/// Whether the state says that a closed task has the key, though perhaps the store does not any
/// more.
[[nodiscard]] bool is_retained(const shard_state& state, const task_key& name);

/// Notes in a snapshot that closes the segment for how long its key stays taken, if the segment
/// has it. @pre the segment is in the state still
void note_closed_key(shard_state& state, const segment& s, snapshot_taken& c);

/// Carries out what a snapshot says of keys. @pre its closed segments have released theirs
void apply_key_records(shard_state& state, const snapshot_taken& c);

/// Remembers what a request with keys was answered.
void remember_answer(shard_state& state, const answered_request& answered, timestamp at);

} // namespace codeq::core
