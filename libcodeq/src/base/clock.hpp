// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>

namespace codeq::base {

/// Source of time; a parameter of everything that needs it. Used from one thread.
class clock {
public:
  virtual ~clock() = default;

  /// Both clocks, read together.
  [[nodiscard]] virtual instant now() = 0;
};

/// Derives shard time from a monotonic and a wall clock. It starts at max(persisted, wall), never
/// goes back, and moves toward the wall clock by at most 5 % of the time that has passed, so that a
/// step of the wall clock at run time makes nothing due early.
class shard_time {
public:
  shard_time(timestamp persisted, monotonic_time steady, timestamp wall);

  /// Shard time at this reading of the two clocks. Constant time.
  [[nodiscard]] timestamp at(monotonic_time steady, timestamp wall);

private:
  monotonic_time last_steady_;
  timestamp last_;
  /// Slew that is allowed but not used yet, in twentieths of a millisecond.
  std::int64_t slew_credit_ = 0;
};

/// The clocks of the operating system; monotonic time runs through suspend (`CLOCK_BOOTTIME`).
class system_clock final : public clock {
public:
  /// `persisted`: the latest shard time found in the store.
  explicit system_clock(timestamp persisted);

  [[nodiscard]] instant now() override;

private:
  shard_time shard_time_;
};

/// Advances only by `advance`; for tests and simulation.
class manual_clock final : public clock {
public:
  [[nodiscard]] instant now() override { return now_; }

  void advance(duration by) {
    now_.steady += by;
    now_.shard += by;
  }

private:
  instant now_{monotonic_time{duration{1'000'000}}, timestamp{duration{1'700'000'000'000}}};
};

} // namespace codeq::base
