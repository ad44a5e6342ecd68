// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/filter_options.hpp"
#include "ctl/known_queue.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <array>
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

/// Options shared by `list` and `dead list`.
std::vector<option> shared_options(list_options& to) {
  auto options = common_filter_options(to.filter);
  std::vector<option> pages{
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
  for (auto& one : pages)
    options.push_back(std::move(one));
  return options;
}

std::vector<option> grammar(list_options& to) {
  auto options = shared_options(to);
  for (auto& one : task_filter_options(to.filter))
    options.push_back(std::move(one));
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
  write_shards(out, "missing", page.missing);
  return out.end_object().take() + "\n";
}

/// How to get the next page, and which shards the page lacks.
std::string hint_of(const task_page& page) {
  const auto more =
    page.after.empty() ? std::string() : "more with --after " + page.after + "\n";
  return more + left_out_text(page.missing, 0, "tasks");
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

/// The queue that the filter names; an end of a list says nothing of it.
queue_address queue_of(const list_options& of) {
  return {of.filter.tenant, of.page.after.empty() ? of.filter.queue : std::string()};
}

int run(context& with, const list_options& of) {
  return show_of(with, queue_of(of), with.api.list(of.filter, of.page), to_json, to_text);
}

int run_dead(context& with, const list_options& of) {
  return show_of(with, queue_of(of), with.api.list(of.filter, of.page), to_json, dead_text);
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
