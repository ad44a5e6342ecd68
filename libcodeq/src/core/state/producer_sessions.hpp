// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <string>
#include <vector>

/// How long a shard remembers what it answered a producer. A forgotten session must never pass for
/// a new one, since a late retry would be executed a second time. Therefore the id of a session
/// says when it was created, and a session is forgotten only when it is older than the maximum age
/// of a new one, or when the shard has no room.
///
/// A shard has room for a fixed number of sessions. When there are more, the tenant with the most
/// sessions loses those that it used longest ago. From then on the shard refuses every unknown
/// session of that tenant that is as old as a forgotten one; the producer begins another session.
/// A session that several tenants use is counted for tenant "", and when one of those is forgotten,
/// as old unknown sessions of every tenant are refused.
namespace codeq::core {

/// The session, or null when it is unknown or has been idle for too long.
[[nodiscard]] const producer_session*
find_session(const shard_state& state, const producer_id& producer, timestamp now);

/// The tenant that the session of a request is counted for: empty when its tasks are of several.
/// @pre there are runs
[[nodiscard]] std::string tenant_of(const std::vector<enqueue_run>& runs);

/// Whether a session that is unknown here can begin now for a tenant, or for several when that is
/// empty. Errors: `session_expired`, `invalid_argument` (created in the future).
[[nodiscard]] result<void> check_new_session(
  const shard_state& state, const producer_id& producer, const std::string& tenant, timestamp now);

/// Whether a known session can be used by that tenant, or by several when that is empty. A session
/// becomes one of several tenants only if none of them can have lost it. Error: `session_expired`.
[[nodiscard]] result<void> check_tenant(
  const shard_state& state,
  const producer_id& producer,
  const producer_session& session,
  const std::string& tenant);

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
