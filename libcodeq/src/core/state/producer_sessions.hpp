// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/result.hpp"

#include "core/state/shard_state.hpp"

#include <string>
#include <vector>

/// How long a shard remembers what it answered a producer. A session that was forgotten must never
/// pass for a new one, else a late retry would be executed twice; so its id says when it was
/// created, and it is not forgotten before that alone makes it too old.
///
/// A shard has room for so many sessions. The tenant that has most of them loses those that it used
/// longest ago, and from then on every session of that tenant that is unknown and not younger is
/// refused: who names it begins another.
namespace codeq::core {

/// The session, or null when it is unknown or has been idle for too long.
[[nodiscard]] const producer_session*
find_session(const shard_state& state, const producer_id& producer, timestamp now);

/// Whether a session that is unknown here can begin now for that tenant. Errors: `session_expired`,
/// `invalid_argument` (from the future).
[[nodiscard]] result<void> check_new_session(
  const shard_state& state, const producer_id& producer, const std::string& tenant, timestamp now);

/// Notes that the session was used at that time.
void note_use(
  shard_state& state, const producer_id& producer, producer_session& session, timestamp at);

/// Remembers what a request of a tenant was answered.
void remember_request(
  shard_state& state,
  const request_id& request,
  const std::string& tenant,
  const seq_run& tasks,
  timestamp at);

/// The session of a request: used at that time, without the answers that it does not need any more.
producer_session& touch_session(
  shard_state& state, const request_id& request, const std::string& tenant, timestamp at);

/// Whether a snapshot should come soon, since there are more sessions than there is room for.
[[nodiscard]] bool has_many_sessions(const shard_state& state);

/// Notes in a snapshot which sessions end: those that have been idle for too long, and those for
/// which there is no room. Then which of the others have to be written.
void note_sessions(const shard_state& state, snapshot_taken& c);

/// Forgets what the snapshot ended, and that the others had to be written.
void settle_sessions(shard_state& state, const snapshot_taken& c);

/// Takes a session back from its record.
void restore_session(shard_state& state, producer_record record);

/// Takes back what the last snapshot said of sessions that were forgotten.
void restore_forgotten(shard_state& state, const std::vector<forgotten_sessions>& forgotten);

} // namespace codeq::core
