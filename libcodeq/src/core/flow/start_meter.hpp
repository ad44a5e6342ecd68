// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>

namespace codeq::core {

/// How many tasks of a queue started lately: those of the last 30 to 60 seconds, in two windows.
class start_meter {
public:
  /// Counts that many starts. @pre `now` is not before that of an earlier call
  void add(std::uint64_t tasks, monotonic_time now);

  /// Starts per minute over the windows, or over the time since the first start when that is
  /// shorter, but at least over 10 seconds. 0 when nothing started in them.
  [[nodiscard]] std::uint64_t per_minute(monotonic_time now) const;

private:
  /// Ends the window that is over at that time.
  void move_on(monotonic_time now);

  monotonic_time begin_{};
  std::uint64_t tasks_ = 0;
  /// Starts in the window before.
  std::uint64_t before_ = 0;
  bool has_before_ = false;
};

} // namespace codeq::core
