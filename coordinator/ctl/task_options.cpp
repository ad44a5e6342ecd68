// SPDX-License-Identifier: Apache-2.0
#include "ctl/task_options.hpp"

#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "ctl/limit_options.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include <unistd.h>

namespace codeq::ctl {

namespace {

std::string read_payload() {
  if (isatty(STDIN_FILENO) == 1)
    std::fputs("codeqctl: type the payload, then Ctrl-D\n", stderr);
  std::string text;
  std::array<char, 1 << 16> part{};
  while (text.size() <= limits::payload_bytes_max) {
    auto got = std::fread(part.data(), 1, part.size(), stdin);
    if (got == 0)
      break;
    text.append(part.data(), got);
  }
  return text;
}

} // namespace

result<timestamp> parse_time(const std::string& text) {
  if (auto time = base::parse_rfc3339(text))
    return *time;
  return error{
    errc::invalid_argument,
    quote(text) + " is not a time with a zone, such as 2026-01-31T12:00:00Z or "
      "2026-01-31T13:00:00+01:00"};
}

option header_option(task_spec& task) {
  auto take = [&task](const std::string& text) -> result<void> {
    auto end = text.find('=');
    if (end == 0 || end == std::string::npos)
      return error{errc::invalid_argument, quote(text) + " is not NAME=VALUE"};
    if (!task.headers.emplace(text.substr(0, end), text.substr(end + 1)).second)
      return error{errc::invalid_argument, quote(text.substr(0, end)) + " is given twice"};
    return {};
  };
  return {
    .name = "header",
    .value = "NAME=VALUE",
    .help = "Header that is passed to the handler, such as traceparent=00-...; may be repeated, at "
            "most 16 KiB in all [default: none]",
    .take = take,
    .repeatable = true};
}

std::vector<option> key_options(task_spec& task) {
  return {
    text_option(
      "group",
      "Group of the task, at most 256 bytes; tasks of a group run one at a time, in order of "
      "arrival [default: none]",
      task.group,
      limits::group_bytes_max),
    text_option(
      "key",
      "Your own name for the task, unique within queue and group; at most 256 bytes. An ended task "
      "keeps its key for its --retention, a dead one for its --dead-retention [default: none]",
      task.key,
      limits::key_bytes_max),
    {.name = "on-duplicate",
     .value = "WHAT",
     .help =
       "What to do if a task has the key. existing prints its id and reject fails, even if that "
       "task has ended. If it is live, replace_ended prints its id, defer sets the later of "
       "both delays and promote the new one; if it has ended, these three add a new task "
       "[default: existing]",
     .take = choice_into(task.duplicate, base::duplicate_names)},
    switch_option(
      "replace-payload",
      "Let a duplicate also replace the payload of a live task that does not run [default: off]",
      task.replace_payload),
    text_option(
      "fairness-key",
      "Ready tasks of one priority take turns by this key, at most 256 bytes; tenant/customer "
      "takes turns by tenant first [default: the empty key]",
      task.fairness_key,
      limits::fairness_key_bytes_max),
    count_option(
      "fairness-weight",
      "Share of run time that the fairness key gets compared with others [default: 1]",
      task.fairness_weight,
      {1, limits::fairness_weight_max}),
    limit_of_task_option(task.limits)};
}

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
  auto base = given.retry_base.value_or(plain.base);
  task.retry = retry_policy{
    given.retry.value_or(plain.kind), base, given.retry_cap.value_or(std::max(plain.cap, base))};
}

result<std::string> payload_of(const std::string& given) {
  auto payload = given == "-" ? read_payload() : given;
  // The rest of a longer one is not read, so its size is unknown.
  if (payload.size() > limits::payload_bytes_max)
    return error{
      errc::too_large,
      "payload has more than " + std::to_string(limits::payload_bytes_max) + " bytes"};
  return payload;
}

} // namespace codeq::ctl
