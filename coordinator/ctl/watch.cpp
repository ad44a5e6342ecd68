// SPDX-License-Identifier: Apache-2.0
#include "codeq/producer.hpp"

#include "base/json_writer.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
#include "ctl/progress_bar.hpp"
#include "ctl/reach.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <string>
#include <utility>

#include <unistd.h>

namespace codeq::ctl {

namespace {

constexpr std::size_t percent_max = 100;

std::string to_json(const task_progress& progress) {
  base::json_writer out;
  out.begin_object().field("id", to_string(progress.id)).field("attempt", progress.attempt);
  out.field("percent", progress.percent).bytes_field("note", progress.note);
  return out.end_object().take() + "\n";
}

std::string to_text(const task_progress& progress) {
  return std::to_string(progress.percent) + "% " + in_one_line(progress.note) + "\n";
}

/// A bar where somebody looks at one, else a line for each word of the handler.
void show(const task_progress& progress, progress_bar& bar, bool json) {
  if (json)
    print(to_json(progress));
  else if (bar.is_shown() && isatty(STDOUT_FILENO) == 1)
    bar.draw(static_cast<std::size_t>(progress.percent), percent_max, progress.note);
  else
    print(to_text(progress));
}

int show_end(const task_status& status, bool json) {
  auto why = in_one_line(status.error_text);
  auto line = std::string(to_string(status.state)) + (why.empty() ? "" : ": " + why) + "\n";
  print(json ? ended_json(status) : line);
  return status.state == task_state::completed ? exit_done : exit_not_completed;
}

} // namespace

int run(const config::ctl_config& config, const config::watch_command& command) {
  producer_options options;
  options.coordinators = config.coordinators;
  options.name = "codeqctl";
  options.access = config.access;
  auto client = producer::connect(std::move(options));
  if (!client)
    return fail(client.error(), config.json);
  progress_bar bar;
  auto told = [&](const task_progress& progress) { show(progress, bar, config.json); };
  auto ended = (*client)->watch(command.task, told, command.wait);
  // The client's thread must be done with the bar.
  client->reset();
  bar.clear();
  if (ended)
    return show_end(*ended, config.json);
  auto reason = explain(ended.error(), config);
  auto failed = fail(reason, config.json);
  return reason.code == errc::timeout ? exit_not_ended : failed;
}

} // namespace codeq::ctl
