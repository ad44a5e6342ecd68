// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <array>
#include <cstdint>

namespace codeq::core {

/// How many attempts ended, and how many of them failed.
struct attempt_counts {
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;

  friend bool operator==(const attempt_counts&, const attempt_counts&) = default;
};

/// Counts the attempts of a queue that ended within a window of time, in tenths of the window: ends
/// leave it after 0.9 to 1.0 of its length. Constant size and time per call.
class failure_window {
public:
  /// @pre `length` is at least `tenths` milliseconds
  explicit failure_window(duration length) : tenth_{length / tenths} {}

  /// Counts the end of an attempt. Times of successive calls do not decrease.
  void add(monotonic_time now, bool failed);

  /// The counts as of the latest call of `add`.
  [[nodiscard]] const attempt_counts& counts() const noexcept { return sum_; }

private:
  static constexpr std::int64_t tenths = 10;

  [[nodiscard]] attempt_counts& part_of(std::int64_t tenth);

  duration tenth_;
  /// Number of the tenth of the latest end.
  std::int64_t latest_ = 0;
  /// By the number of the tenth, modulo `tenths`.
  std::array<attempt_counts, tenths> parts_{};
  attempt_counts sum_;
};

} // namespace codeq::core
