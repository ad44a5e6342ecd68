// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace codeq::schedule {

/// The values that a field of a cron expression may have, and their names.
struct cron_field_kind {
  std::string_view name;
  unsigned min = 0;
  unsigned max = 0;
  /// Names of the values from `min` on; empty without names.
  std::span<const std::string_view> names{};
};

inline constexpr std::array<std::string_view, 12> month_names{
  "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
inline constexpr std::array<std::string_view, 7> weekday_names{
  "sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/// All kinds in the order of an expression with six fields.
inline constexpr std::array<cron_field_kind, 6> cron_field_kinds{{
  {"seconds", 0, 59},
  {"minutes", 0, 59},
  {"hours", 0, 23},
  {"days of month", 1, 31},
  {"months", 1, 12, month_names},
  {"days of week", 0, 7, weekday_names},
}};

/// One field of a cron expression.
struct cron_field {
  /// With numbers instead of names.
  std::string text;
  /// A bit for each value that matches.
  std::uint64_t bits = 0;
  /// It begins with `*`.
  bool is_star = false;
};

/// `number` is that of the field for the text of an error. Errors: `invalid_argument`.
[[nodiscard]] result<cron_field>
parse_cron_field(std::string_view text, std::size_t number, const cron_field_kind& kind);

} // namespace codeq::schedule
