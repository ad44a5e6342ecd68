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
  /// What was asked for is not known to this version.
  unsupported = 5,

  // A conflict with the state of the task or session.
  /// The lease with that token is over; the report changed nothing.
  stale_lease = 20,
  /// No such task, or past its retention.
  unknown_task = 21,
  /// Another live task has the key.
  duplicate = 22,
  /// Redrive refused: another live task took the key.
  key_taken = 23,
  /// Idle longer than a session lives, or its request numbers were forgotten.
  session_expired = 24,
  /// Another living worker has this name.
  name_in_use = 25,
  /// A newer incarnation took this name over; exit.
  superseded = 26,
  /// The report was accepted before, with the same token.
  already = 27,

  // Worth a retry, after a pause.
  /// Too much in flight; the context says how long to wait.
  overloaded = 40,
  /// The queue holds as many tasks as it may.
  queue_full = 41,
  /// The process is stopping.
  going_away = 42,
  /// No connection, or lost before the answer.
  disconnected = 43,
  /// The answer did not come in time; the outcome is unknown.
  timeout = 44,
  /// Not enough free disk space to accept new tasks.
  disk_full = 45,

  // Internal: an operator has to look.
  /// The store failed; the process stops.
  io_error = 60,
  /// Stored bytes are not what was written.
  corruption = 61,
  /// The store belongs to another format, shard count or process.
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
