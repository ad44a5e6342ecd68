// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

/// In the order of `list_order`.
constexpr std::array<std::string_view, 2> order_names{"oldest", "newest"};

struct list_options {
  task_filter filter;
  page_request page{.order = list_order::newest_first};
};

/// Parses a time in RFC 3339, or an age.
result<timestamp> parse_time(const std::string& text) {
  if (auto at = base::parse_rfc3339(text))
    return *at;
  if (auto age = base::parse_duration(text))
    return wall_time() - *age;
  return error{
    errc::invalid_argument,
    quote(text)
      + " is neither a time such as 2026-05-20T10:00:00Z nor a duration before now such as 2h"};
}

result<std::pair<std::string, std::string>> parse_header(const std::string& text) {
  auto equals = text.find('=');
  if (equals == 0 || equals == text.npos)
    return error{errc::invalid_argument, quote(text) + " is not NAME=VALUE"};
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

option time_option(const char* name, std::string help, timestamp& target) {
  return {
    .name = name,
    .value = "TIME",
    .help = std::move(help),
    .take = config::put_into(target, parse_time)};
}

option header_option(std::map<std::string, std::string>& target) {
  auto take = [&target](const std::string& text) -> result<void> {
    auto header = parse_header(text);
    if (!header)
      return header.error();
    if (target.size() == limits::filter_headers_max && !target.contains(header->first))
      return error{
        errc::too_large,
        quote(text) + " is one too many; there may be at most "
          + std::to_string(limits::filter_headers_max)};
    target[header->first] = std::move(header->second);
    return {};
  };
  return {
    .name = "header",
    .value = "NAME=VALUE",
    .help = "Only tasks with this header; may be given up to 16 times [default: all]",
    .take = std::move(take),
    .repeatable = true};
}

/// Options shared by `list` and `dead list`.
std::vector<option> shared_options(list_options& to) {
  return {
    queue_filter_option(to.filter.queue),
    tenant_option(to.filter.tenant),
    group_filter_option(to.filter.group),
    error_filter_option(to.filter.error),
    count_option(
      "limit",
      "Maximum number of tasks, 1 to 10000 [default: 100]",
      to.page.limit,
      {1, limits::listed_tasks_max}),
    {.name = "order",
     .value = "ORDER",
     .help = "Which tasks to list first, by enqueue time: oldest or newest [default: newest]",
     .take = choice_into(to.page.order, order_names)},
    plain_option(
      "after",
      "PLACE",
      "Go on after an earlier page, which printed this place [default: begin]",
      to.page.after)};
}

std::vector<option> grammar(list_options& to) {
  auto options = shared_options(to);
  auto& workers = to.filter.workers;
  auto add = [&](option one) { options.push_back(std::move(one)); };
  add(
    {.name = "state",
     .value = "STATE",
     .help = "Only tasks that are scheduled, gated, ready, leased, completed, dead or cancelled "
             "[default: any]",
     .take = choice_into(to.filter.state, state_names)});
  add(text_option(
    "key", "Only tasks with this key [default: all]", to.filter.key, limits::key_bytes_max));
  add(
    {.name = "worker",
     .value = "NAME",
     .help = "Only tasks that this worker runs or ran last [default: all]",
     .take = [&workers](const std::string& text) -> result<void> {
       workers = {text};
       return {};
     }});
  add(header_option(to.filter.headers));
  add(time_option(
    "since",
    "Only tasks enqueued at this time or later: 2026-05-20T10:00:00Z, or 2h for two hours ago "
    "[default: all]",
    to.filter.enqueued.since));
  add(time_option(
    "until", "Only tasks enqueued before this time [default: all]", to.filter.enqueued.until));
  return options;
}

std::vector<option> dead_grammar(list_options& to) {
  auto options = shared_options(to);
  for (auto& one : age_options(to.filter.ended))
    options.push_back(std::move(one));
  options.push_back(switch_option(
    "blocking", "Only those that block their group [default: all]", to.filter.is_blocking));
  return options;
}

std::string to_json(const task_page& page) {
  base::json_writer out;
  out.begin_object().begin_array("tasks");
  for (const auto& task : page.tasks)
    write_summary(out, task);
  out.end_array();
  if (!page.after.empty())
    out.field("after", page.after);
  return out.end_object().take() + "\n";
}

/// How to get the next page.
std::string hint_of(const task_page& page) {
  return page.after.empty() ? std::string() : "more with --after " + page.after + "\n";
}

std::string time_or_nothing(const std::optional<timestamp>& at) {
  return at ? to_string(*at) : std::string();
}

std::string to_text(const task_page& page) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"ID", "QUEUE", "STATE", "ATTEMPT", "ENQUEUED", "ENDED", "WORKER", "GROUP", "KEY"}};
  for (const auto& task : page.tasks)
    rows.push_back(
      {to_string(task.id),
       printable(task.tenant + "/" + task.queue),
       std::string(to_string(task.state)),
       to_string(task.attempt) + "/" + to_string(task.max_attempts),
       to_string(task.enqueued_at),
       time_or_nothing(task.ended_at),
       printable(task.worker),
       in_one_line(task.group),
       in_one_line(task.key)});
  return format_table(rows) + hint_of(page);
}

std::string dead_text(const task_page& page) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"ID", "QUEUE", "ATTEMPT", "DIED", "GROUP", "KEY", "ERROR"}};
  for (const auto& task : page.tasks)
    rows.push_back(
      {to_string(task.id),
       printable(task.tenant + "/" + task.queue),
       to_string(task.attempt) + "/" + to_string(task.max_attempts),
       time_or_nothing(task.ended_at),
       in_one_line(task.group),
       in_one_line(task.key),
       in_one_line(task.error_text)});
  return format_table(rows) + hint_of(page);
}

int run(context& with, const list_options& of) {
  return show(with, with.api.list(of.filter, of.page), to_json, to_text);
}

int run_dead(context& with, const list_options& of) {
  return show(with, with.api.list(of.filter, of.page), to_json, dead_text);
}

} // namespace

void add_list(command_table& to) {
  to.add(command<list_options>{
    .name = "list",
    .help = "List tasks, also ended ones as long as they are retained",
    .grammar = grammar,
    .run = run});
  list_options dead;
  dead.filter.state = task_state::dead;
  to.add(command<list_options>{
    .name = "dead list",
    .help = "List dead tasks with their attempts, times of death and errors",
    .grammar = dead_grammar,
    .run = run_dead,
    .defaults = dead});
}

} // namespace codeq::ctl
