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

/// The task that has the key, or nothing. Adds no queue.
[[nodiscard]] std::optional<key_holder>
owner_of(const shard_state& state, const task_key& name, timestamp now);

/// Makes the segment's task the last one that took its key, at that place in the log. Nothing when
/// it has none.
void hold_key(shard_state& state, segment& s, log_position since);

/// Takes the key from a task that goes for good: it falls back to the one that had it before, if
/// that one is still known. Nothing when the segment has none; may be called again.
void release_key(shard_state& state, const segment& s);

/// Keeps the key of a closed task, unless its queue was purged since.
void retain_key(shard_state& state, const task_key& name, retained_key record);

/// Ends the time of all keys whose closed tasks a purge of the queue removed. Linear in the shard's
/// retained keys.
void end_purged_keys(shard_state& state, const queue_address& queue);

/// Notes in a snapshot that closes the segment for how long its key stays taken, if the segment
/// has it. @pre the segment is in the state still
void note_closed_key(shard_state& state, const segment& s, snapshot_taken& c);

/// Notes in a snapshot the keys whose time is over, a bounded number at a time.
void note_expired_keys(const shard_state& state, snapshot_taken& c);

/// Carries out what a snapshot says of keys. @pre its closed segments have released theirs
void apply_key_records(shard_state& state, const snapshot_taken& c);

/// Remembers what a request with keys was answered.
void remember_answer(shard_state& state, const answered_request& answered, timestamp at);

} // namespace codeq::core
