// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_config.hpp"

#include "config/value_options.hpp"
#include "config/values.hpp"

namespace codeq::config {

namespace {

constexpr auto footer =
  "Durations have a unit: 500ms, 30s, 5m, 1h, 7d. Exit status: 0 done; 1 failed; 2 wrong usage; 3 "
  "the task has not ended yet; 4 the task is dead or cancelled. The options above may also be "
  "given "
  "in the environment (CODEQ_COORDINATOR) or in the TOML file of --config; a flag wins over the "
  "environment, the environment over the file.";

constexpr duration wait_max = 7 * std::chrono::hours(24);
constexpr std::uint64_t enqueue_count_max = 10'000'000;

/// What the commands' flags are read into; one of them is used.
struct commands {
  enqueue_command enqueue;
  get_command get;
  result_command result;
  change_command cancel;
  change_command promote;
  change_command redrive;
};

result<void> take_task_id(task_id& target, const std::string& text) {
  auto id = parse_task_id(text);
  if (!id)
    return error{
      errc::invalid_argument,
      quote(text) + " is not a task id (its shape or its check digits are wrong)"};
  target = *id;
  return {};
}

option id_option(task_id& target) {
  return {
    .name = "ID",
    .value = "ID",
    .help = "The task's id, as printed by enqueue",
    .take = [&target](const std::string& text) { return take_task_id(target, text); },
    .required = true,
    .positional = true};
}

option wait_option(std::optional<duration>& target, std::string help) {
  return {
    .name = "wait",
    .value = "DURATION",
    .help = std::move(help),
    .take = [&target](const std::string& text) {
      return store_duration(target.emplace(), text, {duration{0}, wait_max});
    }};
}

option name_option(const char* name, std::string help, std::string& target) {
  return {
    .name = name, .value = "NAME", .help = std::move(help), .take = [&target](const auto& text) {
      auto parsed_name = parse_name(text);
      if (!parsed_name)
        return result<void>(parsed_name.error());
      target = std::move(*parsed_name);
      return result<void>();
    }};
}

template <std::integral Number>
option count_option(const char* name, std::string help, Number& target, count_range range) {
  return {
    .name = name,
    .value = "N",
    .help = std::move(help),
    .take = [&target, range](const std::string& text) {
      std::uint64_t number = 0;
      auto stored = store_count(number, text, range);
      target = static_cast<Number>(number);
      return stored;
    }};
}

option duration_option(const char* name, std::string help, duration& target, duration_range range) {
  return {
    .name = name,
    .value = "DURATION",
    .help = std::move(help),
    .take = [&target, range](const std::string& text) {
      return store_duration(target, text, range);
    }};
}

option retry_option(retry_policy& retry) {
  return {
    .name = "retry",
    .value = "KIND",
    .help = "How the delay between attempts grows: fixed, linear, exponential or "
            "exponential-jitter [default: exponential-jitter]",
    .take = [&retry](const std::string& text) -> result<void> {
      auto choice = parse_choice(text, {"fixed", "linear", "exponential", "exponential-jitter"});
      if (!choice)
        return choice.error();
      retry.kind = static_cast<retry_kind>(*choice);
      return {};
    }};
}

std::vector<option> place_options(enqueue_command& to) {
  std::vector<option> options;
  options.push_back(name_option("QUEUE", "The queue's name", to.task.queue));
  options.back().positional = options.back().required = true;
  options.push_back(
    {.name = "PAYLOAD",
     .value = "PAYLOAD",
     .help = "The task's payload; - or nothing reads it from stdin",
     .take = [&to](const std::string& text) -> result<void> {
       to.payload = text;
       return {};
     },
     .positional = true});
  options.push_back(
    name_option("tenant", "Namespace of the queue [default: default]", to.task.tenant));
  options.push_back(
    count_option("priority", "0 to 9, 9 first [default: 0]", to.task.priority, {0, 9}));
  options.push_back(count_option(
    "count", "How many tasks with this payload [default: 1]", to.count, {1, enqueue_count_max}));
  options.push_back(
    wait_option(to.wait, "Wait until the tasks end, at most this long [default: do not wait]"));
  return options;
}

command enqueue_options(enqueue_command& to) {
  command entry{"enqueue", "Add tasks and print their ids", place_options(to)};
  auto& task = to.task;
  auto add = [&](option o) { entry.options.push_back(std::move(o)); };
  constexpr auto zero = duration{0};
  add(duration_option(
    "delay",
    "Not claimable before this long from now [default: 0]",
    task.delay,
    {zero, limits::not_before_ahead_max}));
  add(
    {.name = "allow-promotion",
     .value = "",
     .help = "Let promote lift the delay too [default: off]",
     .take = [&task](const std::string& text) {
       return store_switch(task.allow_promotion, text);
     }});
  add(duration_option(
    "lease",
    "How long a claim is valid without a heartbeat, 1s to 12h [default: 10s]",
    task.lease,
    {limits::lease_min, limits::lease_max}));
  add(count_option(
    "max-attempts",
    "Deliveries before the task is dead, 1 to 1000 [default: 5]",
    task.max_attempts,
    {1, limits::attempts_max}));
  add(retry_option(task.retry));
  add(duration_option(
    "retry-base",
    "First delay between attempts, at most 365d [default: 1s]",
    task.retry.base,
    {zero, limits::retry_max}));
  add(duration_option(
    "retry-cap",
    "Longest delay between attempts, at most 365d [default: 15m]",
    task.retry.cap,
    {zero, limits::retry_max}));
  add(duration_option(
    "run-timeout",
    "Longest an attempt may run, at most 30d; 0 is no limit [default: 0]",
    task.run_timeout,
    {zero, limits::run_timeout_max}));
  return entry;
}

void add_commands(option_set& options, commands& to) {
  options.add(enqueue_options(to.enqueue));
  options.add(command{"get", "Show what is known of a task", {id_option(to.get.task)}});
  options.add(command{
    "result",
    "Write the result of a completed task to stdout",
    {id_option(to.result.task),
     wait_option(
       to.result.wait, "Wait until the task ends, at most this long [default: do not wait]")}});
  options.add(command{
    "cancel",
    "End a task; a running handler is asked to stop, and may still complete it",
    {id_option(to.cancel.task)}});
  options.add(command{
    "promote",
    "Make a task that waits for a time ready now; a delay of its producer counts on unless the "
    "task "
    "was enqueued with --allow-promotion",
    {id_option(to.promote.task)}});
  options.add(
    command{"redrive", "Give a dead task all its attempts again", {id_option(to.redrive.task)}});
  options.add(command{"stats", "Show counts per queue and the coordinator's gauges", {}});
}

void add_global_options(option_set& options, ctl_config& config) {
  options.add(coordinator_option(config.coordinators));
  options.add(
    {.name = "json",
     .value = "",
     .help = "Print one JSON object per answer [default: off]",
     .take = [&config](const std::string& text) { return store_switch(config.json, text); }});
  options.add(duration_option(
    "timeout",
    "How long to wait for a connection and for each answer, 1ms to 1h [default: 10s]",
    config.timeout,
    {duration{1}, std::chrono::hours(1)}));
}

} // namespace

parsed<ctl_config> parse_ctl(const command_line& line) {
  ctl_config config;
  commands given;
  option_set options("codeqctl", "Operates a codeq coordinator.", footer);
  add_global_options(options, config);
  add_commands(options, given);
  if (auto end = options.parse(line))
    return *end;
  if (options.chosen() == "enqueue")
    config.command = std::move(given.enqueue);
  else if (options.chosen() == "get")
    config.command = given.get;
  else if (options.chosen() == "result")
    config.command = given.result;
  else if (options.chosen() == "cancel")
    config.command = given.cancel;
  else if (options.chosen() == "promote")
    config.command = change_command{given.promote.task, task_change::promote};
  else if (options.chosen() == "redrive")
    config.command = change_command{given.redrive.task, task_change::redrive};
  return config;
}

} // namespace codeq::config
