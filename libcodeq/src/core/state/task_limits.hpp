// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <optional>

/// How the tasks of a shard use its limits. A ready task with limits is in its lane, or held by one
/// of its limit keys; it then stays ready, and is in no lane. Slots are taken with a lease and
/// freed with its end, in turns and in recovery alike.
namespace codeq::core {

/// The task is ready, and in no lane because one of its limits holds it back, or because it waits
/// for a permit. Also for a segment without limits.
[[nodiscard]] bool is_held(const shard_state& state, const segment& s);

/// The terms of the fairness keys of all queues, and of the permits that are wanted. Valid as long
/// as the state.
[[nodiscard]] fair_terms_of fairness_terms(const shard_state& state);

/// Tasks of the queue wait for permits of other shards.
[[nodiscard]] bool awaits_permits(const shard_state& state, const queue_state& queue);

// Functions below that take a segment: @pre it has limits, unless stated otherwise. The time that
// they use is the latest shard time that was seen.

/// A lease of the task began.
void occupy_limits(shard_state& state, const segment& s);

/// A lease of the task ended.
void free_limits(shard_state& state, const segment& s);

/// The task starts, which counts against the rates of its limits.
void charge_limits(shard_state& state, const segment& s);

/// Why the ready task may not start now; empty when it may.
[[nodiscard]] std::optional<limit_refusal> check_limits(shard_state& state, const segment& s);

/// The use that holds the ready task back, or would; empty when there is none.
[[nodiscard]] std::optional<task_limit> refused_use(shard_state& state, const segment& s);

/// The task needs a permit of another shard to start, and has none.
[[nodiscard]] bool lacks_permit(const shard_state& state, const segment& s);

/// Takes a ready task out of its lane until it has a permit. @pre it lacks one, and its other
/// limits admit it
void wait_for_permit(shard_state& state, segment& s);

/// Puts tasks that waited for permits, and have them now, back into their lanes.
void admit(shard_state& state, const std::vector<sequence>& tasks);

/// Takes a ready task out of its lane, because of that refusal.
void hold_back(shard_state& state, segment& s, const limit_refusal& why);

/// The task is not ready any more. True when it was held back, and so is in no lane.
[[nodiscard]] bool leave_limits(shard_state& state, const segment& s);

/// Puts the held tasks back into their lanes that their keys admit. Returns their number.
std::size_t release_held(shard_state& state);

/// Closes the key of a use until that time, because of a report at the shard `by`. The shard that
/// owns the key is told if it is another one. Permits of the key that are not spent are returned,
/// in this turn and then by other shards.
void close_limit(
  shard_state& state,
  const std::string& tenant,
  const task_limit& use,
  timestamp until,
  shard_id by);

/// The attempt that is about to end cost something else than the task says, for limits of the task
/// by name. @pre the token's lease is in the table
void settle_limits(
  shard_state& state,
  const segment& s,
  fencing_token token,
  const std::vector<task_limit>& actual);

/// Number of tasks that the key of the use holds back before this one; about as many when fairness
/// keys take turns.
[[nodiscard]] std::size_t
held_before(shard_state& state, const segment& s, const task_limit& use);

/// The attempt of the task ran for so much less than its fairness key was charged, or more when
/// negative: among the tasks that its limit keys hold back, the key has its turns accordingly.
void settle_turns(shard_state& state, const segment& s, std::int64_t difference);

/// The task's use of the limit of that name, or the first one when it is empty; null when there is
/// none. Also for a segment without limits.
[[nodiscard]] const task_limit* find_use(const segment& s, const std::string& name);

/// From now on the keys of limits belong to the shards that own them, and permits are used for
/// those of other shards. Until then all keys count as the shard's own. @pre no task is held back
void open_permits(shard_state& state, std::uint16_t shard_count);

/// The other shard is served anew.
void note_moved(shard_state& state, shard_id shard);

} // namespace codeq::core
