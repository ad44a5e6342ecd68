// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <algorithm>

namespace codeq::transport {

/// Pauses between attempts to connect. They double from `min` to `max`, and each is shortened
/// randomly by up to half, so that the peers of a restarted coordinator do not all dial at the same
/// time.
class backoff {
public:
  backoff(duration min, duration max) : min_(min), max_(max), next_(min) {}

  /// The pause before the next attempt; `chance` is a random number in [0, 1).
  [[nodiscard]] duration next(double chance) {
    auto full = next_;
    next_ = std::min(next_ * 2, max_);
    auto cut = static_cast<double>(full.count()) * chance / 2;
    return full - duration(static_cast<duration::rep>(cut));
  }

  /// Called after a successful attempt: the next pause is short again.
  void reset() { next_ = min_; }

private:
  duration min_;
  duration max_;
  duration next_;
};

} // namespace codeq::transport
