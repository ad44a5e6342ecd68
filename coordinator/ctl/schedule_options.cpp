// SPDX-License-Identifier: Apache-2.0
#include "ctl/schedule_options.hpp"

#include "ctl/task_options.hpp"
#include "http/json/schedule_json.hpp"

#include <utility>

namespace codeq::ctl {

namespace {

/// An option that sets a field of the rule.
option field_option(const char* name, const char* value, const char* help, std::string& fields) {
  auto take = [name, &fields](const std::string& text) -> result<void> {
    if (text.empty() || text.find(';') != std::string::npos)
      return error{errc::invalid_argument, quote(text) + " is empty or has a semicolon"};
    fields += std::string("; ") + name + "=" + text;
    return {};
  };
  return {.name = name, .value = value, .help = help, .take = take};
}

std::vector<option> rule_options(schedule_options& to) {
  return {
    plain_option(
      "cron",
      "EXPRESSION",
      "When to fire: minute, hour, day of month, month and day of week, with seconds before them "
      "if there are six fields; or @daily and the like [default: none]",
      to.cron),
    plain_option(
      "every", "PERIOD", "When to fire: a period of whole seconds, 1s or more, such as 90s, 5m, 1d "
                         "[default: none]",
      to.every),
    plain_option(
      "rule",
      "RULE",
      "When to fire, with all fields in one line, as `schedule show` prints it [default: none]",
      to.rule),
    field_option("zone", "ZONE", "Time zone of --cron, such as Europe/Berlin [default: UTC]",
                 to.fields),
    field_option(
      "anchor", "TIME", "A time that --every hits [default: 1970-01-01T00:00:00Z]", to.fields),
    field_option(
      "gap",
      "shift|skip",
      "A time that the clock leaves out fires at the end of the gap, or not [default: shift]",
      to.fields),
    field_option(
      "fold",
      "first|last|both",
      "Which of two equal times fire when the clock is set back [default: first]",
      to.fields),
    field_option("start", "TIME", "Do not fire before this time [default: none]", to.fields),
    field_option("end", "TIME", "Do not fire at or after this time [default: none]", to.fields),
    field_option(
      "jitter",
      "DURATION",
      "Fire up to this much later, at a fixed delay for each time [default: 0s]",
      to.fields)};
}

std::vector<option> policy_options(schedule_options& to) {
  return {
    {.name = "misfire",
     .value = "latest|all|skip",
     .help = "Which of the times fire that passed while the coordinator was down [default: latest]",
     .take = choice_into(to.misfire, base::misfire_names)},
    duration_option(
      "catch-up",
      "Such times that passed longer ago do not fire [default: 1h]",
      to.catch_up,
      {duration{0}, limits::retry_max}),
    {.name = "overlap",
     .value = "skip|allow|queue_one|cancel_previous",
     .help = "What to do while the task of an earlier time has not ended [default: skip]",
     .take = choice_into(to.overlap, base::overlap_names)}};
}

void append(std::vector<option>& to, std::vector<option> more) {
  for (auto& one : more)
    to.push_back(std::move(one));
}

} // namespace

result<schedule_spec> schedule_options::spec() const {
  int given = (rule.empty() ? 0 : 1) + (cron.empty() ? 0 : 1) + (every.empty() ? 0 : 1);
  if (given != 1)
    return error{
      errc::invalid_argument,
      std::to_string(given) + " of cron, every and rule are given; give exactly one of them"};
  schedule_spec spec;
  spec.rule = (every.empty() ? rule + cron : "every " + every) + fields;
  spec.misfire = misfire;
  spec.catch_up = catch_up;
  spec.overlap = overlap;
  spec.task = task;
  take_settings(settings, spec.task);
  return spec;
}

option schedule_option(std::string& target) {
  auto entry = name_option("SCHEDULE", "Name of the schedule", target);
  entry.value = "SCHEDULE";
  return required(placed(std::move(entry)));
}

std::vector<option> definition_options(schedule_options& to) {
  auto options = rule_options(to);
  append(options, policy_options(to));
  options.push_back(required(name_option("queue", "Queue of the tasks", to.task.queue)));
  options.push_back(plain_option(
    "payload", "PAYLOAD", "Payload of the tasks; - reads it from stdin [default: empty]",
    to.payload));
  options.push_back(count_option(
    "priority", "Priority, 0 to 9; 9 runs first [default: 0]", to.task.priority, {0, 9}));
  options.push_back(header_option(to.task));
  auto default_of = [](const char* value) {
    return "[default: the queue's, " + std::string(value) + " unless set]";
  };
  append(options, settings_options(to.settings, default_of));
  append(options, key_options(to.task));
  return options;
}

std::vector<option> schedule_grammar(schedule_options& to) {
  std::vector<option> options{schedule_option(to.name.name)};
  append(options, definition_options(to));
  options.push_back(tenant_option(to.name.tenant));
  options.push_back(switch_option(
    "dry-run", "Only print the next times, in the zone and in UTC [default: off]", to.is_dry_run));
  options.push_back(count_option(
    "count",
    "Number of times that --dry-run prints, 1 to 1000 [default: 20]",
    to.count,
    {1, limits::schedule_next_max}));
  return options;
}

} // namespace codeq::ctl
