// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

struct list_options {
  task_filter filter;
  std::size_t limit = limits::listed_tasks_default;
};

/// Options shared by `list` and `dead list`.
std::vector<option> shared_options(list_options& to) {
  return {
    queue_filter_option(to.filter.queue),
    tenant_option(to.filter.tenant),
    count_option(
      "limit",
      "Maximum number of tasks, 1 to 10000 [default: 100]",
      to.limit,
      {1, limits::listed_tasks_max})};
}

std::vector<option> grammar(list_options& to) {
  auto options = shared_options(to);
  options.push_back(
    {.name = "state",
     .value = "STATE",
     .help = "Only tasks that are scheduled, gated, ready, leased, completed, dead or cancelled "
             "[default: any]",
     .take = choice_into(to.filter.state, state_names)});
  return options;
}

std::vector<option> dead_grammar(list_options& to) {
  auto options = shared_options(to);
  options.push_back(switch_option(
    "blocking", "Only those that block their group [default: all]", to.filter.is_blocking));
  return options;
}

std::string to_json(const std::vector<task_summary>& tasks) {
  base::json_writer out;
  out.begin_object().begin_array("tasks");
  for (const auto& task : tasks)
    write_summary(out, task);
  return out.end_array().end_object().take() + "\n";
}

std::string to_text(const std::vector<task_summary>& tasks) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"ID", "QUEUE", "STATE", "ATTEMPT", "ENQUEUED", "GROUP", "KEY"}};
  for (const auto& task : tasks)
    rows.push_back(
      {to_string(task.id),
       printable(task.tenant + "/" + task.queue),
       std::string(to_string(task.state)),
       to_string(task.attempt) + "/" + to_string(task.max_attempts),
       to_string(task.enqueued_at),
       in_one_line(task.group),
       in_one_line(task.key)});
  return format_table(rows);
}

int run(context& with, const list_options& of) {
  return show(with, with.api.list(of.filter, of.limit), to_json, to_text);
}

} // namespace

void add_list(command_table& to) {
  to.add(command<list_options>{
    .name = "list", .help = "List the oldest tasks", .grammar = grammar, .run = run});
  list_options dead;
  dead.filter.state = task_state::dead;
  to.add(command<list_options>{
    .name = "dead list",
    .help = "List the oldest dead tasks",
    .grammar = dead_grammar,
    .run = run,
    .defaults = dead});
}

} // namespace codeq::ctl
