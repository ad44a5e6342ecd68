// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace codeq {

/// Why a request was refused. The numbers cross the wire: never renumber; mirrored by `ErrorCode`
/// in `schema/common.capnp` (a test compares them).
enum class errc : std::uint8_t {
  /// Not an error.
  none = 0,

  // The caller's mistake: the same request will fail again.
  /// A field is out of its range; the context names field, value and limit.
  invalid_argument = 1,
  /// A name, payload, result or other field is longer than its limit.
  too_large = 2,
  /// The peer speaks no common protocol version, or broke the protocol.
  protocol_error = 3,
  /// The token does not allow this.
  unauthorized = 4,
  /// This version does not support the request.
  unsupported = 5,

  // A conflict with the state of the task or session.
  /// The lease with that token is over; the report changed nothing.
  stale_lease = 20,
  /// The task does not exist, or its retention has passed.
  unknown_task = 21,
  /// Another live task has the key.
  duplicate = 22,
  /// Redrive refused: another live task took the key.
  key_taken = 23,
  /// The producer session was idle for too long, or its request numbers are no longer remembered.
  session_expired = 24,
  /// A connected worker already uses this name.
  name_in_use = 25,
  /// A newer incarnation of this worker has taken over its name; the older process must exit.
  superseded = 26,
  /// The report was accepted before, with the same token.
  already = 27,
  /// The queue does not exist.
  unknown_queue = 28,
  /// The schedule does not exist.
  unknown_schedule = 29,
  /// The tenant has no limit of that name.
  unknown_limit = 30,

  // Worth a retry, after a pause.
  /// Too many requests in flight; the context says how long to wait.
  overloaded = 40,
  /// The queue holds its maximum number of tasks.
  queue_full = 41,
  /// The process is stopping.
  going_away = 42,
  /// There is no connection, or it was lost before the answer.
  disconnected = 43,
  /// The answer did not come in time; the outcome is unknown.
  timeout = 44,
  /// Not enough free disk space to accept new tasks.
  disk_full = 45,
  /// Another coordinator of the cluster serves the shard; nothing was done. Clients then ask that
  /// one by themselves.
  not_owner = 46,

  // Internal: an operator has to look.
  /// The store failed; the process stops.
  io_error = 60,
  /// Stored bytes differ from what was written.
  corruption = 61,
  /// The store has another format or shard count, or another process has it open.
  incompatible_store = 62,
  /// A program, library or file could not be used.
  unavailable = 63,
};

/// The stable name of a code, as in the enum. Never fails.
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// True when the same request may succeed later without a change by the caller.
[[nodiscard]] constexpr bool is_retryable(errc code) noexcept {
  return code >= errc::overloaded && code < errc::io_error;
}

} // namespace codeq
