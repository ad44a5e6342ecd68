// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "base/enum_names.hpp"
#include "base/json_writer.hpp"
#include "http/json/input.hpp"
#include "http/json/task_fields.hpp"
#include "schedule/rule.hpp"

#include <string>
#include <vector>

/// How schedules look on this surface.
namespace codeq::http {

/// A schedule to set.
inline constexpr auto schedule_fields = std::to_array<input_field>({
  {.name = "rule", .range = at_most(1024)},
  {.name = "cron", .range = at_most(256)},
  {.name = "every", .range = at_most(32)},
  {.name = "anchor", .range = at_most(64)},
  {.name = "zone", .range = at_most(128)},
  {.name = "gap", .type = input_type::choice, .choices = schedule::gap_names},
  {.name = "fold", .type = input_type::choice, .choices = schedule::fold_names},
  {.name = "start", .range = at_most(64)},
  {.name = "end", .range = at_most(64)},
  {.name = "jitter", .range = at_most(32)},
  {.name = "misfire", .type = input_type::choice, .choices = base::misfire_names},
  {.name = "catchUp",
   .type = input_type::period,
   .range = milliseconds_in(duration{0}, limits::retry_max)},
  {.name = "catchUpMs",
   .type = input_type::milliseconds,
   .same_as = "catchUp",
   .range = milliseconds_in(duration{0}, limits::retry_max)},
  {.name = "overlap", .type = input_type::choice, .choices = base::overlap_names},
  {.name = "task",
   .type = input_type::object,
   .is_required = true,
   .takes_all_names = true,
   .members = follow_up_fields},
});

/// Reads what `schedule_fields` says. Errors: `invalid_argument`, `too_large`.
[[nodiscard]] result<schedule_spec> make_schedule(const input& from, const std::string& tenant);

/// Explains the state of a schedule at `now`, also of one that was deleted.
[[nodiscard]] std::string explanation_of(const schedule_answer& answer, timestamp now);

/// A schedule as an object, and what explains its state at `now`.
void write_schedule(base::json_writer& json, const schedule_info& schedule, timestamp now);
void write_schedule(base::json_writer& json, const schedule_answer& answer, timestamp now);
void write_times(base::json_writer& json, const std::vector<schedule_time>& times);
void write_occurrence(base::json_writer& json, const schedule_occurrence& entry);

} // namespace codeq::http
