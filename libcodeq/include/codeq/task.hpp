// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include <map>
#include <optional>
#include <string>
#include <variant>

namespace codeq {

/// How the delay before the next attempt grows. Stored on disk, never renumber.
enum class retry_kind : std::uint8_t {
  fixed = 0,
  linear = 1,
  exponential = 2,
  exponential_jitter = 3, ///< Full jitter: anywhere between 0 and the exponential delay.
};

struct retry_policy {
  retry_kind kind = retry_kind::exponential_jitter;
  duration base = limits::retry_base_default;
  duration cap = limits::retry_cap_default;

  friend bool operator==(const retry_policy&, const retry_policy&) = default;
};

/// What a dead task does to its group. Stored on disk, never renumber.
enum class on_dead : std::uint8_t {
  skip = 0,  ///< The next one runs.
  block = 1, ///< The rest waits until the dead one is redriven or purged.
};

/// What becomes of an enqueue whose key has a record already. Stored on disk, never renumber.
enum class on_duplicate : std::uint8_t {
  existing = 0, ///< Nothing; the answer names the record.
  reject = 1,   ///< The enqueue is refused with `duplicate`.
  defer = 2,    ///< An unleased record waits for the later of both times.
  promote = 3,  ///< As `defer`, also forward when the record was created with `allow_promotion`.
};

/// What one task of an enqueue came to. Stored on disk, never renumber.
enum class enqueue_kind : std::uint8_t {
  created = 0,
  existing = 1,
  deferred = 2,
  promoted = 3,
  unchanged = 4,
  running = 5,
  duplicate = 6, ///< Refused, because the key has a record.
};

[[nodiscard]] std::string_view to_string(enqueue_kind kind) noexcept;

/// What a producer asks for. Limits: `codeq/limits.hpp`; a field over its limit is refused.
struct task_spec {
  std::string tenant = "default";
  std::string queue;
  /// Opaque and binary-safe; at most 1 MiB.
  std::string payload;
  /// 0..9, 9 first.
  int priority = 0;
  /// Not claimable before this long after the enqueue; zero is at once.
  duration delay{0};
  /// Not claimable before this time (milliseconds since 1970); excludes `delay`.
  std::optional<timestamp> not_before{};
  /// Lets an operator's promotion lift `delay` and `not_before` too, not only a retry's delay.
  bool allow_promotion = false;
  std::uint32_t max_attempts = limits::attempts_default;
  retry_policy retry{};
  duration lease = limits::lease_default;
  /// Longest an attempt may run however well it beats; zero is no limit.
  duration run_timeout{0};
  std::map<std::string, std::string> headers{};
  /// At most one task of a group (and queue) is leased, in order of arrival; at most 256 bytes,
  /// empty is no group.
  std::string group{};
};

/// A task's place in its life, as producers and operators see it.
enum class task_state : std::uint8_t {
  scheduled = 0,
  gated = 1,
  ready = 2,
  leased = 3,
  completed = 4,
  dead = 5,
  cancelled = 6,
};

[[nodiscard]] std::string_view to_string(task_state state) noexcept;

[[nodiscard]] constexpr bool is_terminal(task_state state) noexcept {
  return state >= task_state::completed;
}

/// What a producer or operator learns about one task.
struct task_status {
  task_id id;
  std::string tenant;
  std::string queue;
  int priority = 0;
  task_state state = task_state::ready;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  /// The token of the latest lease; zero when never leased.
  fencing_token token{};
  timestamp enqueued_at;
  /// When a scheduled task may be claimed.
  std::optional<timestamp> eligible_at;
  /// Who holds the lease of a leased task.
  std::string worker;
  /// How many leases in a row were lost (the worker did not live to report).
  std::uint32_t lost_in_row = 0;
  /// The result of a completed task.
  std::string result;
  /// The latest error text of a failed attempt or a dead task.
  std::string error_text;
};

/// What an operator does to one task, whoever holds it.
enum class task_change : std::uint8_t {
  /// Ends it; a running handler is asked to stop and may still complete.
  cancel,
  /// Makes a task that waits for a time eligible now.
  promote,
  /// Gives a dead task all its attempts again.
  redrive,
  /// Removes a dead task for good.
  purge,
};

struct change_outcome {
  enum class kind : std::uint8_t {
    changed,
    /// The task is leased; it changes when the lease ends.
    requested,
    /// Its state does not allow it, or it was as asked already.
    unchanged,
    /// The producer's own deferral stands, because the task does not allow promotion.
    guarded,
  };

  kind what = kind::unchanged;
  /// The task's state from then on.
  task_state state = task_state::ready;
};

[[nodiscard]] std::string_view to_string(change_outcome::kind what) noexcept;

} // namespace codeq
