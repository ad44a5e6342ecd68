// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace codeq {

/// Why a request was refused. The numbers cross the wire: never renumber; mirrored by `ErrorCode`
/// in `schema/common.capnp` (a test compares them).
enum class errc : std::uint8_t {
  /// Not an error.
  none = 0,

  // The caller's mistake: the same request will fail again.
  /// A field is out of its range; the context names field, value and limit.
  invalid_argument = 1,
  /// A name, payload, result or other field is longer than its limit, or a tenant would have more
  /// queues, schedules or limits than it may.
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
  /// A task has the key, whether it is live or has ended.
  duplicate = 22,
  /// Redrive refused: another live task took the key.
  key_taken = 23,
  /// The producer session was idle for too long, or its request numbers are no longer remembered.
  session_expired = 24,
  /// A connected worker already uses this name.
  name_in_use = 25,
  /// A newer incarnation of this worker has taken over its name; the older process must exit.
  superseded = 26,
  /// The report was accepted before, with the same token; or a backup is being made already.
  already = 27,
  /// The queue does not exist.
  unknown_queue = 28,
  /// The schedule does not exist.
  unknown_schedule = 29,
  /// The tenant has no limit of that name.
  unknown_limit = 30,
  /// The task ended without a result: it is dead or was cancelled. Only from `result_of`.
  not_completed = 31,

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
  /// The store has a newer format or another shard count, or its epochs ran out.
  incompatible_store = 62,
  /// A program, library, file or port could not be used; or another process has the store open; or
  /// too few replicas of a shard are in sync, which is worth a retry.
  unavailable = 63,
};

/// The stable name of a code, as in the enum. Never fails.
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// True when the same request may succeed later without a change by the caller.
[[nodiscard]] constexpr bool is_retryable(errc code) noexcept {
  return (code >= errc::overloaded && code < errc::io_error) || code == errc::unavailable;
}

/// A refusal: the code is for programs, the context explains in words what happened.
struct error {
  errc code = errc::none;
  std::string context;

  friend bool operator==(const error&, const error&) = default;
};

/// "code: context", for logs and people.
[[nodiscard]] std::string to_string(const error& e);

/// Thrown when a `result` is asked for the value that it does not have. Its text is that of the
/// error.
class bad_result_access : public std::logic_error {
public:
  explicit bad_result_access(codeq::error refused)
      : std::logic_error(to_string(refused)), error_(std::move(refused)) {}

  [[nodiscard]] const codeq::error& error() const noexcept { return error_; }

private:
  codeq::error error_;
};

/// Either a value or an `error`; the shape of C++23's `std::expected`.
template <class T>
class [[nodiscard]] result {
public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(codeq::error e) : state_(std::in_place_index<1>, std::move(e)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }

  explicit operator bool() const noexcept { return has_value(); }

  /// @throws bad_result_access when there is an error; so do `*` and `->`
  [[nodiscard]] T& value() & {
    require_value();
    return *std::get_if<0>(&state_);
  }

  [[nodiscard]] const T& value() const& {
    require_value();
    return *std::get_if<0>(&state_);
  }

  [[nodiscard]] T&& value() && {
    require_value();
    return std::move(*std::get_if<0>(&state_));
  }

  /// The value, or `other` when there is an error.
  template <class U>
  [[nodiscard]] T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

  template <class U>
  [[nodiscard]] T value_or(U&& other) && {
    return has_value() ? std::move(*this).value() : static_cast<T>(std::forward<U>(other));
  }

  [[nodiscard]] T& operator*() & { return value(); }

  [[nodiscard]] const T& operator*() const& { return value(); }

  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }

  [[nodiscard]] T* operator->() { return &value(); }

  [[nodiscard]] const T* operator->() const { return &value(); }

  /// @throws std::logic_error when there is a value
  [[nodiscard]] const codeq::error& error() const {
    if (has_value())
      throw std::logic_error("this codeq::result has a value and no error");
    return *std::get_if<1>(&state_);
  }

private:
  void require_value() const {
    if (const auto* refused = std::get_if<1>(&state_))
      throw bad_result_access(*refused);
  }

  std::variant<T, codeq::error> state_;
};

/// Success without a value, or an `error`.
template <>
class [[nodiscard]] result<void> {
public:
  result() = default;

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(codeq::error e) : error_(std::move(e)) {}

  [[nodiscard]] bool has_value() const noexcept { return error_.code == errc::none; }

  explicit operator bool() const noexcept { return has_value(); }

  /// @throws bad_result_access when there is an error
  void value() const {
    if (!has_value())
      throw bad_result_access(error_);
  }

  [[nodiscard]] const codeq::error& error() const { return error_; }

private:
  codeq::error error_;
};

} // namespace codeq
