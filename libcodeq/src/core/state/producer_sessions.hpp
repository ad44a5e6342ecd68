// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/result.hpp"

#include "core/state/shard_state.hpp"

#include <vector>

/// How long a shard remembers what it answered a producer. A session that was forgotten must never
/// pass for a new one, else a late retry would be executed twice; so its id says when it was
/// created, and it is not forgotten before that alone makes it too old.
namespace codeq::core {

/// The session, or null when it is unknown or has been idle for too long.
[[nodiscard]] const producer_session*
find_session(const shard_state& state, const producer_id& producer, timestamp now);

/// Whether a session that is unknown here can begin now. Errors: `session_expired`,
/// `invalid_argument` (from the future), `overloaded` (too many sessions).
[[nodiscard]] result<void>
check_new_session(const shard_state& state, const producer_id& producer, timestamp now);

/// Notes that the session was used at that time.
void note_use(
  shard_state& state, const producer_id& producer, producer_session& session, timestamp at);

/// Remembers what a request was answered.
void remember_request(
  shard_state& state, const request_id& request, const seq_run& tasks, timestamp at);

/// The session of a request: used at that time, without the answers that it does not need any more.
producer_session& touch_session(shard_state& state, const request_id& request, timestamp at);

/// For a snapshot at that time: the sessions that were used since the last one and go on.
[[nodiscard]] std::vector<producer_record> used_sessions(const shard_state& state, timestamp now);

/// For a snapshot at that time: the sessions that have been idle for too long.
[[nodiscard]] std::vector<producer_id> ended_sessions(const shard_state& state, timestamp now);

/// Forgets what the snapshot ended, and that the others had to be written.
void settle_sessions(shard_state& state, const snapshot_taken& c);

/// Takes a session back from its record.
void restore_session(shard_state& state, producer_record record);

} // namespace codeq::core
