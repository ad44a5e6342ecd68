// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/progress_bar.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <string>
#include <vector>

#include <unistd.h>

namespace codeq::ctl {

namespace {

constexpr std::size_t percent_max = 100;

struct watch_options {
  task_id task;
  /// Maximum time to watch.
  duration wait = wait_max;
};

std::vector<option> grammar(watch_options& to) {
  return {
    id_option(to.task),
    duration_option(
      "wait", "How long to watch at most [default: 7d]", to.wait, {duration{0}, wait_max})};
}

std::string to_json(const task_progress& progress) {
  base::json_writer out;
  out.begin_object().field("id", to_string(progress.id)).field("attempt", progress.attempt);
  out.field("percent", progress.percent).bytes_field("note", progress.note);
  return out.end_object().take() + "\n";
}

std::string to_text(const task_progress& progress) {
  return std::to_string(progress.percent) + "% " + in_one_line(progress.note) + "\n";
}

/// Draws a bar on a terminal; otherwise prints one line per progress report.
void draw(const task_progress& progress, progress_bar& bar, bool json) {
  if (json)
    print(to_json(progress));
  else if (bar.is_shown() && isatty(STDOUT_FILENO) == 1)
    bar.draw(static_cast<std::size_t>(progress.percent), percent_max, progress.note);
  else
    print(to_text(progress));
}

int show_end(const task_end& end, bool json) {
  const auto& status = *end.status;
  auto why = in_one_line(status.error_text);
  auto line = std::string(to_string(status.state)) + (why.empty() ? "" : ": " + why) + "\n";
  print(json ? ended_json(end) : line);
  return status.state == task_state::completed ? exit_done : exit_not_completed;
}

int run(context& with, const watch_options& given) {
  progress_bar bar(with.api.tells_progress());
  auto told = [&](const task_progress& progress) { draw(progress, bar, with.json); };
  auto end = with.api.watch(given.task, given.wait, told);
  bar.clear();
  if (!end)
    return fail(end.error(), with.json);
  return end->late ? fail_waiting(with, given.task, *end->late) : show_end(*end, with.json);
}

} // namespace

void add_watch(command_table& to) {
  to.add(command<watch_options>{
    .name = "watch",
    .help = "Show the progress of a task until it ends",
    .grammar = grammar,
    .run = run});
}

} // namespace codeq::ctl
