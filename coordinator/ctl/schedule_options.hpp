// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "ctl/command_options.hpp"
#include "ctl/queue_settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace codeq::ctl {

/// The options of `schedule set`, which are the keys of a file of schedules too.
struct schedule_options {
  schedule_address name;
  std::string rule;
  std::string cron;
  std::string every;
  /// The other fields of a rule, each as `; field=value`.
  std::string fields;
  misfire_policy misfire = misfire_policy::latest;
  duration catch_up = std::chrono::hours(1);
  overlap_policy overlap = overlap_policy::skip;
  task_spec task;
  queue_changes settings;
  /// `-` reads standard input.
  std::string payload;
  bool is_dry_run = false;
  std::uint32_t count = limits::schedule_next_default;

  /// The schedule without its payload. Errors: `invalid_argument` when not exactly one of rule,
  /// cron and every is given.
  [[nodiscard]] result<schedule_spec> spec() const;
};

/// The name of a schedule as a positional argument.
[[nodiscard]] option schedule_option(std::string& target);

/// The options that describe a schedule and its task; all but the name are keys of a file, too.
[[nodiscard]] std::vector<option> definition_options(schedule_options& to);

/// All options of `schedule set`.
[[nodiscard]] std::vector<option> schedule_grammar(schedule_options& to);

} // namespace codeq::ctl
