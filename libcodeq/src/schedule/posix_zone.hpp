// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "schedule/nominal_time.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace codeq::schedule {

/// A day of each year and a time of that day at which clocks are turned.
struct yearly_change {
  enum class kind : std::uint8_t {
    /// Day 1 to 365; February 29 is never counted.
    julian,
    /// Day 0 to 365 of the year.
    day_of_year,
    /// The n-th weekday of a month; the fifth is the last.
    weekday_of_month,
  };

  kind what = kind::julian;
  unsigned day = 0;
  unsigned month = 0;
  unsigned week = 0;
  /// From midnight; it may be negative, or on a later day.
  std::chrono::seconds time = std::chrono::hours{2};

  [[nodiscard]] local_seconds in(std::chrono::year year) const;
};

/// The footer of a zone file, which has the format of the variable `TZ` of POSIX: offsets, and when
/// they change in each year.
struct posix_zone {
  std::chrono::seconds standard{0};

  struct saving {
    std::chrono::seconds offset{0};
    yearly_change begin;
    yearly_change end;
  };

  std::optional<saving> summer{};

  /// Errors: `corruption`.
  [[nodiscard]] static result<posix_zone> parse(std::string_view text);
};

} // namespace codeq::schedule
