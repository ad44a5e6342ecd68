// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_options.hpp"

#include "codeq/limits.hpp"

#include <chrono>

namespace codeq::ctl {

namespace {

result<task_id> parse_id(const std::string& text) {
  if (auto id = parse_task_id(text))
    return *id;
  return error{
    errc::invalid_argument,
    quote(text) + " is not a task id (its shape or its check digits are wrong)"};
}

template <class Target>
option id_into(Target& target, const std::string& more_help) {
  return {
    .name = "ID",
    .value = "ID",
    .help = "The task's id, as printed by enqueue" + more_help,
    .take = put_into(target, parse_id),
    .positional = true};
}

} // namespace

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

option id_option(task_id& target) {
  return required(id_into(target, ""));
}

option id_option(std::optional<task_id>& target, const std::string& more_help) {
  return id_into(target, more_help);
}

option tenant_option(std::string& target) {
  target.clear();
  return name_option(
    "tenant",
    "Tenant of the queue [default: that of CODEQ_TENANT, else the token's, else default]",
    target);
}

option queue_filter_option(std::string& target) {
  return name_option("queue", "Only tasks of this queue [default: all of the tenant]", target);
}

option group_filter_option(std::string& target) {
  return text_option(
    "group", "Only tasks of this group [default: all]", target, limits::group_bytes_max);
}

option error_filter_option(std::string& target) {
  return text_option(
    "error",
    "Only tasks whose latest error text contains this text [default: all]",
    target,
    limits::error_text_bytes_max);
}

timestamp wall_time() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return timestamp{std::chrono::duration_cast<duration>(since)};
}

std::vector<option> age_options(time_window& died) {
  auto ago = [](timestamp& target, duration more) {
    return [&target, more](const std::string& text) -> result<void> {
      auto age = config::parse_duration_in(text, {duration{0}, limits::not_before_ahead_max});
      if (!age)
        return age.error();
      target = wall_time() - *age + more;
      return {};
    };
  };
  return {
    {.name = "older-than",
     .value = "DURATION",
     .help = "Only tasks that died at least this long ago, for example 2d [default: all]",
     // The bound is exclusive.
     .take = ago(died.until, duration{1})},
    {.name = "newer-than",
     .value = "DURATION",
     .help = "Only tasks that died at most this long ago, for example 1h [default: all]",
     .take = ago(died.since, duration{0})}};
}

option queue_option(std::string& target, bool required) {
  auto entry = placed(name_option("QUEUE", "The queue's name", target));
  entry.required = required;
  return entry;
}

option required(option entry) {
  entry.required = true;
  return entry;
}

option placed(option entry) {
  entry.positional = true;
  return entry;
}

std::vector<option> named_task::options() {
  return {
    id_into(id, "; or --queue and --key"),
    name_option("queue", "Queue of the task with that key [default: none]", key.queue.queue),
    text_option(
      "key", "The task's key instead of its id [default: none]", key.key, limits::key_bytes_max),
    text_option(
      "group",
      "Group of the task with that key [default: none]",
      key.group,
      limits::group_bytes_max),
    tenant_option(key.queue.tenant)};
}

result<void> named_task::check() const {
  auto refuse = [](const char* text) { return error{errc::invalid_argument, text}; };
  if (id && (!key.key.empty() || !key.queue.queue.empty() || !key.group.empty()))
    return refuse("ID and --key are both given; give one of them");
  if (id)
    return {};
  if (key.key.empty())
    return refuse("ID is required, or --queue and --key");
  if (key.queue.queue.empty())
    return refuse("--key needs --queue");
  return {};
}

} // namespace codeq::ctl
