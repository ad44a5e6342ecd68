// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "replication/membership.hpp"

#include <cstddef>
#include <vector>

namespace codeq::replication {

/// When the deltas of an epoch were begun, to tell for how long a replica has lacked the oldest one
/// that it has not confirmed. The newest are known to 10 ms, older ones to an eighth of their age,
/// so that the memory has a limit however far a replica is behind.
class lag_marks {
public:
  /// A delta was begun. @pre it is the newest one
  void note(position at, monotonic_time now);

  /// How long ago the first delta after `written` was begun, at most; zero when there is none.
  [[nodiscard]] duration lag(position written, monotonic_time now) const;

  static constexpr std::size_t marks_max = 256;

private:
  /// Deltas that were begun one soon after another.
  struct mark {
    monotonic_time first_begun{};
    position last;
  };

  /// Joins marks that are close together for their age. @pre there are two
  void thin(monotonic_time now);

  /// In the order of their deltas.
  std::vector<mark> marks_;
};

} // namespace codeq::replication
