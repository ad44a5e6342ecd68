// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "core/commands/command.hpp"
#include "core/commands/schedule_effect.hpp"
#include "protocol/messages.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/task_validation.hpp"
#include "schedule/plan.hpp"
#include "schedule/rule.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Converts requests for schedules, their definitions, and the answers.
namespace codeq::protocol {

template <>
struct reply_of<schema::ScheduleRequest> {
  using type = schema::ScheduleReply;
};

/// Name of the header with the name of the schedule that enqueued a task.
inline constexpr std::string_view schedule_header = "codeq-schedule";
/// Name of the header with the nominal time of the occurrence that a task belongs to.
inline constexpr std::string_view nominal_time_header = "codeq-nominal-time";

/// The contents of a definition.
struct schedule_content {
  schedule::rule rule;
  schedule::catch_up catch_up;
  /// One task, without the headers of an occurrence.
  core::enqueue_run run;
};

/// Packs what a spec says. Checks every field but the zone, and that of the task's tenant is
/// `tenant`. Errors: `invalid_argument` and `too_large` name field, value and limit.
[[nodiscard]] result<core::definition_ptr>
pack_spec(schema::ScheduleSpec::Reader spec, const std::string& tenant);

/// The same for a spec of the public interface. A task that names no tenant belongs to `tenant`.
/// Errors: as above.
[[nodiscard]] result<frame<schema::ScheduleSpec>>
encode_spec(const schedule_spec& spec, std::string_view tenant = default_tenant);

/// Reads a definition. Errors: `protocol_error`, which a definition that `pack_spec` made never
/// causes.
[[nodiscard]] result<schedule_content> read_content(const core::schedule_definition& definition);

/// The definition as the public interface shows it. Errors: as above.
[[nodiscard]] result<schedule_spec> read_spec(const core::schedule_definition& definition);

/// The same for a spec in a reply. May throw `kj::Exception`.
[[nodiscard]] result<schedule_spec> read_spec(schema::ScheduleSpec::Reader spec);

/// The run of an occurrence's task, with the headers that name the schedule and the nominal time.
/// Errors: `protocol_error` for a body that is not one.
[[nodiscard]] result<core::enqueue_run> run_of_occurrence(
  const core::enqueue_run& run, const schedule_address& schedule, const std::string& nominal);

/// A request for schedules.
struct schedule_question {
  using kind = schema::ScheduleRequest::Which;

  kind what = kind::SHOW;
  std::uint64_t number = 0;
  /// Without a name for a list.
  schedule_address name{};
  /// With `set`; with `next` null unless the spec is the request's.
  core::definition_ptr definition{};
  /// With `backfill`.
  timestamp from{};
  timestamp until{};
  /// With `next` and `list`.
  std::uint32_t count = 1;
  /// With `list`.
  std::string after{};
};

/// True when it only reads.
[[nodiscard]] inline bool is_inspection(const schedule_question& asked) {
  using kind = schedule_question::kind;
  return asked.what == kind::SHOW || asked.what == kind::LIST || asked.what == kind::NEXT
         || asked.what == kind::HISTORY;
}

[[nodiscard]] result<schedule_question>
read_schedule_request(const schedule_request& message, shard_place place);

/// The shard of a schedule. @pre shard_count > 0
[[nodiscard]] shard_id shard_of_schedule(const schedule_address& name, std::uint16_t shard_count);

/// A schedule in an answer.
struct schedule_part {
  core::schedule_view view;
  std::vector<schedule_time> next{};
  std::optional<schedule_occurrence> latest{};
};

/// Answers a `ScheduleRequest`.
struct schedules_told {
  std::uint64_t number = 0;
  schedule_result what = schedule_result::unchanged;
  std::vector<schedule_part> schedules{};
  bool more = false;
  std::vector<schedule_occurrence> history{};
};

[[nodiscard]] schedule_reply make_schedule_reply(const schedules_told& answer);

} // namespace codeq::protocol
