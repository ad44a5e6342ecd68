// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "core/tables/schedule_table.hpp"
#include "protocol/schedule_convert.hpp"
#include "schedule/timetable.hpp"
#include "schedule/zone_store.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// Computes what a shard's schedules are to do: reads their definitions, applies their rules, and
/// builds the tasks of occurrences. It keeps nothing of a schedule whose zone is known, so that one
/// costs no more memory than the core's entry.
class schedule_planner {
public:
  /// `since`: when the shard began to serve. Without `zones` only UTC and fixed offsets are known.
  schedule_planner(
    std::shared_ptr<schedule::zone_store> zones, protocol::shard_place place, timestamp since);

  /// Checks a definition. Errors: `invalid_argument` for an unknown zone or a rule that never
  /// fires.
  [[nodiscard]] result<schedule::timetable>
  times_of(const schedule_address& name, const core::schedule_definition& definition) const;

  /// The mark of a schedule that is set to a definition; `before` is null for a new one. Errors: as
  /// `times_of`.
  [[nodiscard]] result<schedule::nominal_time> mark_of(
    const schedule_address& name,
    const core::schedule_definition& definition,
    const core::schedule_entry* before,
    timestamp now) const;

  /// The occurrences of a schedule that are due, or the one that waits.
  [[nodiscard]] core::fire_schedule
  due(const schedule_address& name, const core::schedule_entry& entry, timestamp now);

  /// Number of schedules that do not fire because their zone is not known.
  [[nodiscard]] std::size_t without_zone(const core::schedule_table& all) const;

  /// One occurrence at once.
  [[nodiscard]] core::fire_schedule
  run_now(const schedule_address& name, const core::schedule_entry& entry, timestamp now) const;

  /// The occurrences of a past range, at most `limits::schedule_backfill_max`; with more the
  /// command has an error.
  [[nodiscard]] core::fire_schedule backfill(
    const schedule_address& name,
    const core::schedule_entry& entry,
    const protocol::schedule_question& asked,
    timestamp now) const;

  /// The next occurrences of a schedule, none of which is due yet.
  [[nodiscard]] result<std::vector<schedule_time>>
  next(const core::schedule_view& view, std::uint32_t count, timestamp now) const;

  /// A schedule as answers show it, with its next occurrences.
  [[nodiscard]] protocol::schedule_part
  describe(core::schedule_view view, std::uint32_t count) const;

  /// The zone of a schedule.
  [[nodiscard]] schedule::zone_ptr zone_of(const core::schedule_definition& definition) const;

  /// Reads the zones whose files have changed. True when rules of zones have changed since the call
  /// before, also if another shard read them.
  [[nodiscard]] bool refresh_zones();

private:
  /// A definition, read.
  struct reading {
    protocol::schedule_content content;
    schedule::timetable times;
  };

  [[nodiscard]] result<reading>
  read(const schedule_address& name, const core::schedule_definition& definition) const;
  [[nodiscard]] result<schedule::zone_ptr> find_zone(const std::string& name) const;
  void wait_for_zone(const schedule_address& name, const core::schedule_definition& definition);
  [[nodiscard]] core::planned_occurrence plan_one(
    const schedule_address& name, const reading& from, const schedule::occurrence& when) const;

  std::shared_ptr<schedule::zone_store> zones_;
  protocol::shard_place place_;
  timestamp since_;
  std::set<schedule_address> without_zone_;
  std::uint64_t zones_generation_;
};

/// An entry of a history as answers show it.
[[nodiscard]] schedule_occurrence
show(const core::occurrence& entry, const schedule::time_zone* zone);

} // namespace codeq::coordinator
