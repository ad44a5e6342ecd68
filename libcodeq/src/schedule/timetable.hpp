// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/rule.hpp"
#include "schedule/time_zone.hpp"
#include "schedule/zone_walk.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace codeq::schedule {

/// One time at which a schedule fires.
struct occurrence {
  nominal_time nominal;
  /// Never before it, in shard time. With jitter.
  timestamp due;

  friend bool operator==(const occurrence&, const occurrence&) = default;
};

/// All occurrences of one schedule: a rule, applied to its zone. Their due times strictly increase
/// with their nominal times. Immutable and cheap to copy; make a new one when rule or zone change.
/// No function looks at each occurrence of a span of time: the cost depends on the number of months
/// and offset changes in it.
class timetable {
public:
  /// Errors: `invalid_argument` names a rule that never fires between its start, its end and the
  /// horizon. `name` is that of the schedule with its tenant; the jitter depends on it.
  /// @pre `zone` is that of the rule
  [[nodiscard]] static result<timetable> make(rule r, zone_ptr zone, std::string_view name);

  [[nodiscard]] const rule& source() const noexcept { return rule_; }

  [[nodiscard]] const zone_ptr& zone() const noexcept { return zone_; }

  /// The mark of a schedule that begins now: what is due at or before `now` does not fire.
  [[nodiscard]] nominal_time mark_at(timestamp now) const;

  /// The first occurrence after a nominal time; empty when there is none any more.
  [[nodiscard]] std::optional<occurrence> next_after(const nominal_time& mark) const;

  /// The next occurrences after the mark of a schedule; fewer when there are no more.
  [[nodiscard]] std::vector<occurrence>
  next_of(const nominal_time& mark, std::size_t number) const;

  /// The number of occurrences that are due in [from, until).
  [[nodiscard]] std::uint64_t count(timestamp from, timestamp until) const;

  /// The `number` last occurrences that are due in [from, until), or all if there are fewer; in
  /// order.
  [[nodiscard]] std::vector<occurrence>
  last_of(timestamp from, timestamp until, std::size_t number) const;

  /// The `number` first occurrences that are due at or after an instant; those for a backfill end
  /// before `until`.
  [[nodiscard]] std::vector<occurrence>
  preview(timestamp from, std::size_t number, std::optional<timestamp> until = {}) const;

private:
  /// An occurrence without its jitter.
  using match = zone_match;

  timetable(rule r, zone_ptr zone, std::uint64_t seed);

  [[nodiscard]] std::optional<match> match_from(sys_seconds from) const;
  [[nodiscard]] std::optional<match> match_after(const nominal_time& mark) const;
  [[nodiscard]] std::optional<match> match_before(sys_seconds until) const;
  [[nodiscard]] std::optional<match> first_match_due_from(timestamp from) const;
  [[nodiscard]] std::optional<match> last_match_due_before(timestamp until) const;
  [[nodiscard]] std::uint64_t count_matches(sys_seconds from, sys_seconds until) const;
  [[nodiscard]] occurrence to_occurrence(const match& each) const;

  rule rule_;
  zone_ptr zone_;
  std::uint64_t jitter_seed_ = 0;
  /// Start and end of the rule, within what is computed.
  sys_seconds begin_;
  sys_seconds end_;
};

/// The mark of a schedule whose rule is changed: what has fired under the old rule does not fire
/// again under the new one. What is due at or before `now` does not fire, unless the rule is equal:
/// then the mark stays and what is to be caught up is caught up. Nominal times of different zones,
/// and of `every` and cron, cannot be compared; after such a change only `now` counts.
[[nodiscard]] nominal_time mark_after_change(
  const timetable& before, const nominal_time& mark, const timetable& after, timestamp now);

} // namespace codeq::schedule
