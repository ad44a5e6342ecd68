// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "replication/timing.hpp"

namespace codeq::replication {

/// How long a shard has been without a primary, as one replica sees it: a follower while it hears
/// none, a primary until it may answer. Silence counts from `timing::suspicion` on, and then from
/// its beginning.
class primary_watch {
public:
  explicit primary_watch(monotonic_time now) : served_(now) {}

  /// There is a primary now.
  void note(monotonic_time now) {
    ended_ += lasts(now);
    served_ = now;
  }

  /// Time without a primary until now; zero while there is one.
  [[nodiscard]] duration lasts(monotonic_time now) const {
    return now < served_ + timing::suspicion ? duration{0} : duration(now - served_);
  }

  /// All such times of this replica's process, the one that lasts included.
  [[nodiscard]] duration total(monotonic_time now) const { return ended_ + lasts(now); }

private:
  monotonic_time served_;
  duration ended_{0};
};

} // namespace codeq::replication
