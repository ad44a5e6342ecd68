// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_commands.hpp"

#include "codeq/limits.hpp"

namespace codeq::config {

namespace {

result<task_id> parse_id(const std::string& text) {
  if (auto id = parse_task_id(text))
    return *id;
  return error{
    errc::invalid_argument,
    quote(text) + " is not a task id (its shape or its check digits are wrong)"};
}

result<retry_kind> parse_retry(const std::string& text) {
  auto choice = parse_choice(text, {"fixed", "linear", "exponential", "exponential-jitter"});
  if (!choice)
    return choice.error();
  return static_cast<retry_kind>(*choice);
}

result<on_dead> parse_on_dead(const std::string& text) {
  auto choice = parse_choice(text, {"skip", "block"});
  if (!choice)
    return choice.error();
  return static_cast<on_dead>(*choice);
}

result<duration> parse_retention(const std::string& text) {
  auto choice = parse_choice(text, {"1h", "1d", "7d", "30d", "1y"});
  if (!choice)
    return choice.error();
  return limits::retention_classes[*choice];
}

result<duration> parse_dead_retention(const std::string& text) {
  auto choice = parse_choice(text, {"0", "1h", "1d", "7d", "30d", "1y"});
  if (!choice)
    return choice.error();
  return *choice == 0 ? duration{0} : limits::retention_classes[*choice - 1];
}

template <class T>
void apply(const std::optional<T>& change, T& to) {
  if (change)
    to = *change;
}

} // namespace

queue_config queue_changes::applied_to(queue_config before) const {
  auto& defaults = before.defaults;
  apply(max_attempts, defaults.max_attempts);
  apply(retry, defaults.retry.kind);
  apply(retry_base, defaults.retry.base);
  apply(retry_cap, defaults.retry.cap);
  apply(lease, defaults.lease);
  apply(run_timeout, defaults.run_timeout);
  apply(progress_timeout, defaults.progress_timeout);
  apply(retention, defaults.retention);
  apply(dead_retention, defaults.dead_retention);
  apply(when_dead, defaults.when_dead);
  apply(max_depth, before.max_depth);
  apply(max_leased, before.max_leased);
  apply(keep_payload, before.keep_payload);
  return before;
}

option name_option(const char* name, std::string help, std::string& target) {
  auto parse = [](const std::string& text) { return parse_name(text); };
  return {.name = name, .value = "NAME", .help = std::move(help), .take = put_into(target, parse)};
}

option text_option(const char* name, std::string help, std::string& target, std::size_t limit) {
  auto parse = [limit](const std::string& text) -> result<std::string> {
    if (text.size() <= limit)
      return text;
    return error{
      errc::too_large,
      quote(text.substr(0, 32) + "...") + " has " + std::to_string(text.size())
        + " bytes; it must have at most " + std::to_string(limit)};
  };
  return {.name = name, .value = "TEXT", .help = std::move(help), .take = put_into(target, parse)};
}

option switch_option(const char* name, std::string help, bool& target) {
  return {
    .name = name, .value = "", .help = std::move(help), .take = [&target](const std::string& text) {
      return store_switch(target, text);
    }};
}

option id_option(task_id& target) {
  return {
    .name = "ID",
    .value = "ID",
    .help = "The task's id, as printed by enqueue",
    .take = put_into(target, parse_id),
    .required = true,
    .positional = true};
}

option tenant_option(std::string& target) {
  return name_option("tenant", "Namespace of the queue [default: default]", target);
}

option queue_filter_option(std::string& target) {
  return name_option("queue", "Only tasks of this queue [default: all of the tenant]", target);
}

option queue_option(std::string& target, bool required) {
  auto entry = name_option("QUEUE", "The queue's name", target);
  entry.positional = true;
  entry.required = required;
  return entry;
}

std::vector<option>
settings_options(queue_changes& to, const std::function<std::string(const char*)>& default_of) {
  constexpr auto zero = duration{0};
  auto chosen = [&](const char* name, const char* value, std::string help, auto take) {
    return option{.name = name, .value = value, .help = std::move(help), .take = std::move(take)};
  };
  return {
    duration_option(
      "lease",
      "How long a claim is valid without a heartbeat, 1s to 12h " + default_of("10s"),
      to.lease,
      {limits::lease_min, limits::lease_max}),
    count_option(
      "max-attempts",
      "Deliveries before a task is dead, 1 to 1000 " + default_of("5"),
      to.max_attempts,
      {1, limits::attempts_max}),
    chosen(
      "retry",
      "KIND",
      "How the delay between attempts grows: fixed, linear, exponential or exponential-jitter "
        + default_of("exponential-jitter"),
      put_into(to.retry, parse_retry)),
    duration_option(
      "retry-base",
      "First delay between attempts, at most 365d " + default_of("1s"),
      to.retry_base,
      {zero, limits::retry_max}),
    duration_option(
      "retry-cap",
      "Longest delay between attempts, at most 365d " + default_of("15m"),
      to.retry_cap,
      {zero, limits::retry_max}),
    duration_option(
      "run-timeout",
      "Longest an attempt may run, at most 30d; 0 is no limit " + default_of("0"),
      to.run_timeout,
      {zero, limits::run_timeout_max}),
    duration_option(
      "progress-timeout",
      "Longest an attempt may run without a sign of progress, at most 30d; 0 is no limit "
        + default_of("0"),
      to.progress_timeout,
      {zero, limits::run_timeout_max}),
    chosen(
      "retention",
      "CLASS",
      "How long the record of a completed or cancelled task is kept: 1h, 1d, 7d, 30d or 1y "
        + default_of("1d"),
      put_into(to.retention, parse_retention)),
    chosen(
      "dead-retention",
      "CLASS",
      "The same for a dead task; 0 keeps it until it is purged " + default_of("0"),
      put_into(to.dead_retention, parse_dead_retention)),
    chosen(
      "on-dead",
      "WHAT",
      "What a dead task does to its group: skip lets the next one run, block stops the group "
        + default_of("skip"),
      put_into(to.when_dead, parse_on_dead)),
  };
}

} // namespace codeq::config
