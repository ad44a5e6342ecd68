// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <compare>
#include <cstdint>
#include <optional>

namespace codeq::base {

/// A time at which a schedule is to fire, as its rule names it: milliseconds since 1970 on the
/// local clock of the schedule's zone, and which one when that time occurs twice. With a fixed
/// period the local clock is UTC.
struct nominal_time {
  std::int64_t local_ms = 0;
  bool is_second = false;

  friend auto operator<=>(const nominal_time&, const nominal_time&) = default;
};

/// How far a schedule has come: neither the nominal time nor an earlier one fires any more, and none
/// whose instant is at or before `at`.
struct schedule_cursor {
  /// Empty when none has fired or been passed over.
  std::optional<nominal_time> nominal{};
  timestamp at{};

  friend bool operator==(const schedule_cursor&, const schedule_cursor&) = default;
};

} // namespace codeq::base
