// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "config/ctl_commands.hpp"

namespace codeq::config {

namespace {

constexpr duration wait_max = 7 * std::chrono::hours(24);
constexpr std::uint64_t enqueue_count_max = 10'000'000;

result<on_duplicate> parse_on_duplicate(const std::string& text) {
  auto choice = parse_choice(text, {"existing", "reject", "defer", "promote"});
  if (!choice)
    return choice.error();
  return static_cast<on_duplicate>(*choice);
}

option payload_option(std::string& target) {
  return {
    .name = "PAYLOAD",
    .value = "PAYLOAD",
    .help = "The task's payload; - or nothing reads it from stdin",
    .take = [&target](const std::string& text) -> result<void> {
      target = text;
      return {};
    },
    .positional = true};
}

std::vector<option> place_options(enqueue_command& to) {
  return {
    queue_option(to.task.queue),
    payload_option(to.payload),
    tenant_option(to.task.tenant),
    count_option("priority", "0 to 9, 9 first [default: 0]", to.task.priority, {0, 9}),
    count_option(
      "count", "How many tasks with this payload [default: 1]", to.count, {1, enqueue_count_max}),
    duration_option(
      "wait",
      "Wait until the tasks end, at most this long [default: do not wait]",
      to.wait,
      {duration{0}, wait_max}),
    duration_option(
      "delay",
      "Not claimable before this long from now [default: 0]",
      to.task.delay,
      {duration{0}, limits::not_before_ahead_max}),
    switch_option(
      "allow-promotion", "Let promote lift the delay too [default: off]", to.task.allow_promotion)};
}

std::vector<option> key_options(task_spec& task) {
  return {
    text_option(
      "group",
      "At most one task of a group runs at a time, in order of arrival; at most 256 bytes "
      "[default: none]",
      task.group,
      limits::group_bytes_max),
    text_option(
      "key",
      "Your own name for the task, unique within queue and group; at most 256 bytes [default: "
      "none]",
      task.key,
      limits::key_bytes_max),
    {.name = "on-duplicate",
     .value = "WHAT",
     .help = "When the key has a task already: existing prints that one's id, reject fails, defer "
             "waits for the later delay, promote takes the new one [default: existing]",
     .take = put_into(task.duplicate, parse_on_duplicate)},
    switch_option(
      "replace-payload",
      "Let a duplicate also replace the payload of a task that does not run [default: off]",
      task.replace_payload)};
}

/// Only what was given is the task's own; the rest is the queue's to decide.
void take_settings(const queue_changes& given, task_spec& task) {
  task.max_attempts = given.max_attempts;
  task.lease = given.lease;
  task.run_timeout = given.run_timeout;
  task.progress_timeout = given.progress_timeout;
  task.retention = given.retention;
  task.dead_retention = given.dead_retention;
  task.when_dead = given.when_dead;
  if (!given.retry && !given.retry_base && !given.retry_cap)
    return;
  const retry_policy plain;
  task.retry = retry_policy{
    given.retry.value_or(plain.kind),
    given.retry_base.value_or(plain.base),
    given.retry_cap.value_or(plain.cap)};
}

result<void> check(enqueue_command& command) {
  const auto& task = command.task;
  auto refuse = [](std::string text) { return error{errc::invalid_argument, std::move(text)}; };
  if (!task.key.empty() && command.count > 1)
    return refuse(
      "--count: " + quote(std::to_string(command.count))
      + " tasks cannot share --key; it must be 1");
  if (task.key.empty() && task.duplicate != on_duplicate::existing)
    return refuse("--on-duplicate needs --key");
  if (task.key.empty() && task.replace_payload)
    return refuse("--replace-payload needs --key");
  return {};
}

} // namespace

void add_enqueue_command(ctl_commands& to) {
  auto target = std::make_shared<enqueue_command>();
  auto settings = std::make_shared<queue_changes>();
  command entry{"enqueue", "Add tasks and print their ids", place_options(*target)};
  auto default_of = [](const char* value) {
    return "[default: the queue's, " + std::string(value) + " unless set]";
  };
  for (auto& one : settings_options(*settings, default_of))
    entry.options.push_back(std::move(one));
  for (auto& one : key_options(target->task))
    entry.options.push_back(std::move(one));
  to.add<enqueue_command>(std::move(entry), target, [settings](enqueue_command& command) {
    take_settings(*settings, command.task);
    return check(command);
  });
}

} // namespace codeq::config
