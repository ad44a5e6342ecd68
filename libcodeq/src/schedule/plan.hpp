// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/schedule.hpp"

#include "schedule/timetable.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace codeq::schedule {

/// Maximum number of occurrences that one call of `plan` returns; `all` catches up no more.
inline constexpr std::size_t occurrences_max = 1000;
/// Number of skipped occurrences that one call of `plan` names: as many as a history keeps.
inline constexpr std::size_t skipped_named_max = 100;
/// How far back missed occurrences are caught up, by default.
inline constexpr duration catch_up_default = std::chrono::hours{1};
/// Maximum of it.
inline constexpr duration catch_up_max = std::chrono::hours{365 * 24};

/// Reads the output of `to_string`. Errors: `invalid_argument` names field, value and choices.
[[nodiscard]] result<misfire_policy> parse_misfire_policy(std::string_view text);

/// How missed occurrences are treated. A schedule that is resumed takes `mark_at(now)` as its mark,
/// so that its pause is not caught up.
struct catch_up {
  duration window = catch_up_default;
  misfire_policy policy = misfire_policy::latest;

  friend bool operator==(const catch_up&, const catch_up&) = default;
};

/// The times that decide what was missed.
struct serving {
  /// Since when the shard of the schedule has been served without a break. What is due from then on
  /// fires however late it is looked at; what was due before is missed. Keep it unchanged between
  /// calls: it makes their number irrelevant.
  timestamp since;
  timestamp now;
};

/// What to do about a schedule now.
struct planned {
  /// In order. Write their tasks and `mark` at once; then each fires at most once.
  std::vector<occurrence> to_fire;
  /// Occurrences that will not fire any more, and the newest of them in order.
  std::uint64_t skipped = 0;
  std::vector<occurrence> newest_skipped;
  /// Replaces the mark; the old one when there is nothing to do.
  nominal_time mark;
  /// The next occurrence after `mark`; empty when there is none any more. If it is due already, the
  /// call was full: call again, in the next turn.
  std::optional<occurrence> next;
};

/// Decides what fires of the occurrences after `mark` that are due at `now`, at most `most`. Pure,
/// and the same however calls are split: if `now` goes back, nothing fires until it has passed the
/// next occurrence again. Bounded work, however long the schedule was not served.
/// @pre `most` is positive
[[nodiscard]] planned plan(
  const timetable& times,
  const nominal_time& mark,
  const catch_up& how,
  const serving& when,
  std::size_t most = occurrences_max);

} // namespace codeq::schedule
