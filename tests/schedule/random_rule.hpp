// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/rule.hpp"

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace codeq::test {

/// One field of a cron expression: its text, and the values that the text means, written down
/// while the text was made.
struct random_field {
  std::string text;
  std::array<bool, 64> has{};

  [[nodiscard]] bool is_star() const { return text[0] == '*'; }
};

/// A cron expression for the oracle, which never reads its text.
struct random_cron {
  random_field second;
  random_field minute;
  random_field hour;
  random_field day;
  random_field month;
  random_field weekday;

  /// Some second other than 0 matches.
  [[nodiscard]] bool has_seconds() const { return second.text != "0"; }

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool matches_day(std::chrono::local_days day) const;
  [[nodiscard]] bool matches_second(long second_of_day) const {
    return hour.has[static_cast<std::size_t>(second_of_day / 3600)]
           && minute.has[static_cast<std::size_t>(second_of_day / 60 % 60)]
           && second.has[static_cast<std::size_t>(second_of_day % 60)];
  }
};

using random_engine = std::mt19937_64;

[[nodiscard]] inline int pick(random_engine& random, int min, int max) {
  return std::uniform_int_distribution<int>(min, max)(random);
}

/// An expression that has days; with seconds when `is_fine`, else with the second 0 alone.
[[nodiscard]] random_cron make_random_cron(random_engine& random, bool is_fine);

} // namespace codeq::test
