// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <string>
#include <vector>

/// The producer sessions of a shard, which keep the answers of requests. A forgotten session must
/// never pass for a new one, since a late retry would be executed a second time. Therefore the id
/// of a session contains its creation time, and a session is forgotten only when it is older than
/// the maximum age of a new one, when its producer has ended it, or when the shard has no room.
///
/// A shard has room for a fixed number of sessions. When there are more, the tenant with the most
/// sessions loses those that it used longest ago. From then on the shard refuses every unknown
/// session of that tenant that is as old as a forgotten one; the producer begins another session.
/// A session that several tenants use is counted for tenant ""; when such a session is forgotten,
/// unknown sessions that are as old are refused to every tenant.
namespace codeq::core {

/// The session, or null when it is unknown or has been idle for too long.
[[nodiscard]] const producer_session*
find_session(const shard_state& state, const producer_id& producer, timestamp now);

/// The tenant that the session of a request is counted for: empty when its tasks are of several.
/// @pre there are runs
[[nodiscard]] std::string tenant_of(const std::vector<enqueue_run>& runs);

/// Checks that a session that is unknown here can begin now for `tenant`, or for several tenants
/// when `tenant` is empty. Errors: `session_expired`, `invalid_argument` (created in the future).
[[nodiscard]] result<void> check_new_session(
  const shard_state& state, const producer_id& producer, const std::string& tenant, timestamp now);

/// Checks that `tenant` can use a known session, or several tenants when `tenant` is empty. A
/// session can become one of several tenants only while it is young enough for a new one, and no
/// session as old was forgotten. Error: `session_expired`.
[[nodiscard]] result<void> check_tenant(
  const shard_state& state,
  const producer_id& producer,
  const producer_session& session,
  const std::string& tenant,
  timestamp now);

/// Updates the session's last use.
void note_use(
  shard_state& state, const producer_id& producer, producer_session& session, timestamp at);

/// Stores the answer of a request of `tenant`.
void remember_request(
  shard_state& state,
  const request_id& request,
  const std::string& tenant,
  const seq_run& tasks,
  timestamp at);

/// Returns the session of a request after it updated the last use and dropped the answers that the
/// producer no longer needs.
producer_session& touch_session(
  shard_state& state, const request_id& request, const std::string& tenant, timestamp at);

/// Lets the next snapshot forget a session that its producer has ended. Until then, and when the
/// producer uses it again, it is like any other. @pre the producer repeats none of its requests,
/// because a forgotten session may begin anew
void end_session_of(shard_state& state, const producer_id& producer);

/// True when a snapshot should come soon, because there are more sessions than there is room for.
[[nodiscard]] bool has_many_sessions(const shard_state& state);

/// Adds to a snapshot the sessions that end, because they were idle for too long or there is no
/// room for them, and those of the others that have to be written.
void note_sessions(const shard_state& state, snapshot_taken& c);

/// Removes the sessions that the snapshot ended, and clears the marks of those that it wrote.
void settle_sessions(shard_state& state, const snapshot_taken& c);

/// Restores a session from its record.
void restore_session(shard_state& state, producer_record record);

/// Restores the last snapshot's data about forgotten sessions.
void restore_forgotten(shard_state& state, const std::vector<forgotten_sessions>& forgotten);

} // namespace codeq::core
