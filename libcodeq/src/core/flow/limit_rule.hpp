// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include <cstdint>

namespace codeq::core {

using limit_rule = limit_definition;

/// A start that is asked for.
struct rate_use {
  std::uint32_t cost = 1;
  /// The costs of those that start before.
  std::uint64_t before = 0;
  /// The start comes at most so much later than it is charged. The burst counts as at least what
  /// the rate allows in twice that time, and one start.
  duration late{0};
};

/// The starts of one limit key, by the generic cell rate algorithm: the whole state is the time at
/// which the starts so far are paid for. A rule may change between any two calls.
class rate_meter {
public:
  /// `paid_at`: in nanoseconds of shard time; 0 for a key that never started a task.
  explicit rate_meter(std::int64_t paid_at = 0) : paid_at_(paid_at) {}

  /// The earliest time at which it may start; it may be in the past. A task whose cost exceeds the
  /// burst may start when nothing is unpaid. Starts in a window w are at most rate x w + the burst,
  /// as `rate_use::late` says. @pre `fits`, or nothing starts before
  [[nodiscard]] timestamp next_start(const start_rate& rate, const rate_use& use) const;

  /// False when it may start only after some of those before it are paid for.
  [[nodiscard]] static bool fits(const start_rate& rate, const rate_use& use);

  /// Number of tasks of cost 1 that may start at once.
  [[nodiscard]] std::uint32_t starts_at(const start_rate& rate, timestamp now) const;

  /// It starts, or is charged for a late start.
  void take(const start_rate& rate, const rate_use& use, timestamp now);

  /// A task cost so much more than it was charged at its start, or less when negative.
  void settle(const start_rate& rate, std::int64_t difference, timestamp now);

  /// The whole burst counts as used, since it is unknown how many tasks started.
  void use_up(const start_rate& rate, timestamp now);

  /// The rate changes: as many starts as before are unpaid.
  void change_rate(const start_rate& from, const start_rate& to, timestamp now);

  /// When the past starts do not delay any other one; it may be in the past.
  [[nodiscard]] timestamp idle_at() const;

  [[nodiscard]] bool is_idle(timestamp now) const { return idle_at() <= now; }

  /// The argument that constructs the same meter.
  [[nodiscard]] std::int64_t paid_at() const noexcept { return paid_at_; }

private:
  std::int64_t paid_at_;
};

} // namespace codeq::core
