// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <optional>
#include <utility>
#include <vector>

/// Owners of keys; durable as a function of the records of segments, changes and closed keys. Used
/// by turns, `apply` and recovery.
namespace codeq::core {

/// The segment's key; the views refer to the segment. @pre it has one
[[nodiscard]] key_parts key_of(const segment& s);

[[nodiscard]] task_key name_of(const shard_state& state, const key_parts& key);

/// The tasks in memory that have, or had, the key, in ascending order. Reads the segment of each
/// task whose key has the same hash.
[[nodiscard]] std::vector<key_holder> holders_of(const shard_state& state, const key_parts& key);

/// The task that has the key; empty when there is none. Considers closed tasks only as far as they
/// were recalled. Adds no queue.
[[nodiscard]] std::optional<key_holder>
owner_of(const shard_state& state, const task_key& name, timestamp now);

/// The same for the segment's key. @pre the segment has one
[[nodiscard]] std::optional<key_holder>
owner_of(const shard_state& state, const segment& s, timestamp now);

/// Makes the segment's task the latest holder of its key, at that position in the log. Does nothing
/// when it has no key.
void hold_key(shard_state& state, segment& s, log_position since);

/// Releases the key of a task that is removed for good: it falls back to the previous holder, if
/// that still exists. Does nothing when the segment has no key; may be called again.
void release_key(shard_state& state, const segment& s);

/// Keeps the key of a closed task as long as `key_index` needs it.
void retain_key(shard_state& state, const task_key& name, const retained_key& record);

/// Fills the index of keys, as recovered from all blocks. `holders`: tasks with a key, by its hash.
/// @pre the index is empty
void fill_keys(shard_state& state, std::vector<number_pair> holders);

/// Stores the store's answers for keys until the turn ends. Adds no queue: without its queue a key
/// has no owner.
void recall(shard_state& state, const recall_keys& c);

/// The answers for the keys of these runs, to be kept beyond the turn. They hold until the next
/// snapshot.
[[nodiscard]] std::vector<std::pair<key_id, retained_key>>
recalled_for(const shard_state& state, const std::vector<enqueue_run>& runs);

/// Stores answers that were kept for this turn, too.
void recall_again(
  shard_state& state, const std::vector<std::pair<key_id, retained_key>>& recalled);

/// True when a task that has not ended has the key. Adds no queue.
[[nodiscard]] bool has_live_owner(const shard_state& state, const task_key& name);

/// True when a closed task has the key according to the state, even if the store no longer has its
/// record.
[[nodiscard]] bool is_retained(const shard_state& state, const task_key& name);

/// Records in a snapshot that closes the segment how long its key stays taken, if its task has the
/// key. @pre the segment is still in the state
void note_closed_key(shard_state& state, const segment& s, snapshot_taken& c);

/// Applies a snapshot's changes of keys. @pre its closed segments have released theirs
void apply_key_records(shard_state& state, const snapshot_taken& c);

/// Remembers the answer to a request with keys.
void remember_answer(shard_state& state, const answered_request& answered, timestamp at);

} // namespace codeq::core
