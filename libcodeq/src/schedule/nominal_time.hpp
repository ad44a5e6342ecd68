// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <string>

namespace codeq::schedule {

/// Seconds on a clock that shows the local time of a zone, since its 1970-01-01T00:00:00.
using local_seconds = std::chrono::local_seconds;
/// Seconds of UTC since 1970.
using sys_seconds = std::chrono::sys_seconds;

/// Names one occurrence of a schedule: a local time, and which of two when clocks that are turned
/// back show it twice. It stays the same when the rules of the zone change. For rules with a period
/// the local time is UTC.
///
/// The order is that in which occurrences fire, so the newest nominal time that was handled (the
/// mark of a schedule) stands for all before it. The mark is stored with the schedule.
struct nominal_time {
  /// The position in that order: the local time itself; for the second of two, the local time from
  /// which the clocks were turned back.
  local_seconds order{};
  local_seconds local{};

  [[nodiscard]] bool is_second() const noexcept { return order != local; }

  friend constexpr auto operator<=>(const nominal_time&, const nominal_time&) = default;
};

/// 16 bytes, ordered as the nominal times are. The jitter of an occurrence follows from them: never
/// change them.
[[nodiscard]] std::string encode(const nominal_time& when);

/// A local time within what is computed with some room, so that arithmetic with any stored mark is
/// defined.
[[nodiscard]] local_seconds limited(local_seconds when);

/// `2026-10-25T02:30:00`
[[nodiscard]] std::string to_text(local_seconds when);

/// `2026-10-25T02:30:00`, with ` second` behind it for the second of two. No two nominal times of a
/// schedule have the same text, so it can be part of a key.
[[nodiscard]] std::string to_string(const nominal_time& when);

} // namespace codeq::schedule
