// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "base/enum_names.hpp"
#include "schedule/cron.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace codeq::schedule {

/// Minimum period of `every`. Shorter ones are a stream, and no schedule.
inline constexpr std::chrono::seconds period_min{1};
/// Maximum period of `every`: ten years. A longer one is most likely a wrong unit.
inline constexpr std::chrono::seconds period_max{std::chrono::hours{24 * 3650}};
/// Maximum jitter. A longer one is most likely a wrong unit.
inline constexpr duration jitter_max = std::chrono::hours{24};
/// Maximum text of a rule.
inline constexpr std::size_t rule_bytes_max = 1024;

/// What happens to a nominal time in a gap, which no clock shows because it is turned forward.
enum class gap_policy : std::uint8_t {
  /// It fires at the end of the gap. Nominal times that are due at the same instant are one
  /// occurrence, named by the latest of them: all of one gap, and the one at its end.
  shift = 0,
  /// It does not exist.
  skip = 1,
};

/// Which of two fires when clocks that are turned back show a local time twice.
enum class fold_policy : std::uint8_t { first = 0, last = 1, both = 2 };

// The names of both, in the order of their values.

inline constexpr auto gap_names = base::names_up_to<gap_policy::skip>({"shift", "skip"});
inline constexpr auto fold_names =
  base::names_up_to<fold_policy::both>({"first", "last", "both"});

/// A fixed number of seconds between occurrences, counted from an anchor in both directions. Zones
/// and the daylight-saving policies do not change it.
struct period {
  std::chrono::seconds every{0};
  sys_seconds anchor{};

  friend bool operator==(const period&, const period&) = default;
};

/// When a schedule fires. A value; `parse_rule` returns only rules that fire at least once.
struct rule {
  std::variant<period, cron_expression> when;
  /// A name of the IANA database, `UTC`, or a fixed offset such as `+05:30`.
  std::string zone = "UTC";
  gap_policy gap = gap_policy::shift;
  fold_policy fold = fold_policy::first;
  /// No occurrence is before it.
  std::optional<timestamp> start;
  /// No occurrence is at or after it.
  std::optional<timestamp> end;
  /// Each occurrence is late by less than this, by an amount that depends on schedule and nominal
  /// time alone, and always before the next occurrence.
  duration jitter{0};

  [[nodiscard]] bool is_cron() const noexcept {
    return std::holds_alternative<cron_expression>(when);
  }

  friend bool operator==(const rule&, const rule&) = default;
};

/// The fields of a rule as users write them; empty ones are not given.
struct rule_fields {
  /// Exactly one of `cron` and `every` is given.
  std::string_view cron{};
  /// A whole number of seconds, as `90s`, `5m`, `1h`, `7d`.
  std::string_view every{};
  /// RFC 3339 in whole seconds; only with `every`. Default: 1970-01-01T00:00:00Z.
  std::string_view anchor{};
  std::string_view zone{};
  /// `shift` or `skip`.
  std::string_view gap{};
  /// `first`, `last` or `both`.
  std::string_view fold{};
  /// RFC 3339.
  std::string_view start{};
  std::string_view end{};
  std::string_view jitter{};
};

/// Errors: `invalid_argument` or `too_large` names field, value and limit. Does not look up the
/// zone: see `timetable::make`.
[[nodiscard]] result<rule> parse_rule(const rule_fields& fields);

/// The same from one line: a cron expression or `every 90s`, then `; field=value` for others, as in
/// `30 2 * * 1-5; zone=Europe/Berlin; gap=skip`.
[[nodiscard]] result<rule> parse_rule(std::string_view text);

/// The canonical line: fields in a fixed order, without those that have their defaults. Equal rules
/// have equal lines, and it parses to an equal rule. It is what is stored.
[[nodiscard]] std::string to_string(const rule& r);

[[nodiscard]] std::string_view to_string(gap_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(fold_policy policy) noexcept;

} // namespace codeq::schedule
