// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace codeq::ctl {

namespace {

int get(context& with, const named_task& given) {
  return show(with, with.api.status(given.target()), status_json, status_text);
}

struct result_options {
  task_id task;
  std::optional<duration> wait;
};

std::vector<option> result_grammar(result_options& to) {
  return {
    id_option(to.task),
    duration_option(
      "wait",
      "Wait until the task ends, at most this long [default: do not wait]",
      to.wait,
      {duration{0}, wait_max})};
}

/// Unchanged; on a terminal, the prompt comes on a line of its own.
void print_result_bytes(std::string_view bytes) {
  print(bytes);
  if (isatty(STDOUT_FILENO) == 1 && !bytes.empty() && !bytes.ends_with('\n'))
    print("\n");
}

int print_result(const task_end& end, task_id id, bool json) {
  auto task = "task " + to_string(id);
  if (end.status && json)
    print(ended_json(end));
  if (!end.status || !is_terminal(end.status->state)) {
    // A gateway does not report the state of a task that has not ended.
    auto state = end.status ? " is " + std::string(to_string(end.status->state)) + "," : " has";
    auto why = end.status ? in_one_line(end.status->error_text) : "";
    complain(
      task + state + " not ended yet" + (why.empty() ? "" : "; last error: " + why)
      + "; --wait DURATION waits for its end, `codeqctl explain " + to_string(id)
      + "` says what it waits for");
    return exit_not_ended;
  }
  const auto& status = *end.status;
  if (status.state == task_state::completed) {
    if (!json)
      print_result_bytes(status.result);
    return exit_done;
  }
  auto why = status.error_text.empty() ? "" : ": " + status.error_text;
  complain(task + " is " + std::string(to_string(status.state)) + why);
  return exit_not_completed;
}

int result_of(context& with, const result_options& given) {
  auto end = with.api.await(given.task, given.wait);
  if (!end)
    return fail(with.api.cause_of(end.error()), with.json);
  if (end->late)
    return fail_waiting(with, given.task, *end->late);
  return print_result(*end, given.task, with.json);
}

} // namespace

void add_task(command_table& to) {
  to.add(command<named_task>{
    .name = "get",
    .help = "Show a task and its last error",
    .grammar = [](named_task& task) { return task.options(); },
    .run = get,
    .check = [](const named_task& task) { return task.check(); }});
  to.add(command<result_options>{
    .name = "result",
    .help = "Write the result of a completed task to stdout",
    .grammar = result_grammar,
    .run = result_of});
}

} // namespace codeq::ctl
