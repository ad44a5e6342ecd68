// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "schedule/nominal_time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::schedule {

/// Maximum text of a cron expression. A longer one lists what a range or step says.
inline constexpr std::size_t cron_bytes_max = 256;

/// A set of local times by five fields, `minute hour day-of-month month day-of-week`, or by six
/// with `second` before them. Without it the second is 0.
///
/// A field is `*`, or a list of values and ranges separated by commas; `*` and ranges take a step:
/// `*/15`, `8-18/2`. A step behind a single value (`5/10`) counts on to the highest value. Months
/// and days of the week have English names of three letters, in any case, alone or in ranges. Day 7
/// is Sunday as 0 is. `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight` and
/// `@hourly` stand for whole expressions. Refused are ranges that run backwards, and the signs L,
/// W, # and ? of other schedulers.
///
/// When day of month and day of week are both restricted, a day matches if either does; a field
/// that begins with `*`, also `*/2`, is not restricted. This is what Debian's `cron` does and its
/// crontab(5) describes; POSIX says the same for fields without steps.
///
/// Values are immutable; equal sets that are written differently are not equal.
class cron_expression {
public:
  /// Errors: `invalid_argument` names field, value and limit, for example
  /// `cron field 2 (hours): 25 is not within 0..23`; `too_large`. Days that no month has, as in
  /// `0 0 30 2 *`, are refused.
  [[nodiscard]] static result<cron_expression> parse(std::string_view text);

  /// Five or six fields with numbers, single spaces between them; parses to an equal expression.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  [[nodiscard]] bool matches(local_seconds when) const;

  /// The first match at or after `from`; empty when there is none before `until`. Looks at each
  /// month between them at most once.
  [[nodiscard]] std::optional<local_seconds> next(local_seconds from, local_seconds until) const;

  /// The number of matches in [from, until). Looks at each month between them once, never at each
  /// match.
  [[nodiscard]] std::uint64_t count(local_seconds from, local_seconds until) const;

  friend bool operator==(const cron_expression& a, const cron_expression& b) {
    return a.text_ == b.text_;
  }

private:
  /// A bit for each value that matches; days of the week are 0 (Sunday) to 6.
  struct fields {
    std::uint64_t seconds = 0;
    std::uint64_t minutes = 0;
    std::uint32_t hours = 0;
    std::uint32_t days = 0;
    std::uint32_t months = 0;
    std::uint32_t weekdays = 0;
    /// Day of month and day of week are both restricted.
    bool either_day = false;
  };

  cron_expression(std::string text, const fields& bits) : text_(std::move(text)), bits_(bits) {}

  /// Bits 1 to 31: the days of a month that match.
  [[nodiscard]] std::uint32_t days_of(std::chrono::year_month month) const;
  /// The first second of a day at or after `from` that matches; empty when none does.
  [[nodiscard]] std::optional<std::uint32_t> second_from(std::uint32_t from) const;
  /// The number of matching seconds of a matching day before `end`.
  [[nodiscard]] std::uint64_t seconds_before(std::uint32_t end) const;
  [[nodiscard]] bool matches_day(std::chrono::local_days day) const;

  std::string text_;
  fields bits_;
};

} // namespace codeq::schedule
