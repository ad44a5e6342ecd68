// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"
#include "codeq/producer.hpp"

#include "base/json_writer.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
#include "ctl/payload.hpp"
#include "ctl/progress_bar.hpp"
#include "ctl/reach.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

std::string to_json(const std::vector<enqueued_task>& tasks) {
  base::json_writer out;
  out.begin_object().begin_array("ids");
  for (const auto& task : tasks)
    out.text(to_string(task.id));
  out.end_array().begin_array("outcomes");
  for (const auto& task : tasks)
    out.text(to_string(task.kind));
  return out.end_array().end_object().take() + "\n";
}

/// One id a line; with what happened when the task was there before.
std::string to_text(const std::vector<enqueued_task>& tasks) {
  std::string text;
  for (const auto& task : tasks) {
    auto kind = " " + std::string(to_string(task.kind));
    text += to_string(task.id) + (task.kind == enqueue_kind::created ? "" : kind) + "\n";
  }
  return text;
}

/// Adds `count` copies of a task.
result<std::vector<enqueued_task>>
enqueue_copies(producer& to, const task_spec& task, std::size_t count, duration wait) {
  auto answers = to.enqueue_each(std::vector<task_spec>(count, task), wait);
  if (!answers)
    return answers.error();
  std::vector<enqueued_task> tasks;
  for (const auto& answer : *answers) {
    // Copies share key and group, so they are one part, all or none.
    if (!answer)
      return answer.error();
    tasks.push_back(*answer);
  }
  return tasks;
}

/// How many copies of a task fit one request.
std::size_t batch_of(const task_spec& task) {
  // Headers are bounded; the rest of a task is small beside this.
  auto task_bytes = task.payload.size() + limits::headers_bytes_max;
  return std::min(limits::enqueue_tasks_max, limits::frame_bytes_max / task_bytes);
}

/// `ID STATE`, and for a task that failed why, on one line.
std::string ended_text(const task_status& status) {
  auto line = to_string(status.id) + " " + std::string(to_string(status.state));
  auto why = in_one_line(status.error_text);
  return line + (why.empty() ? "" : ": " + why) + "\n";
}

/// Waits for each task in turn; the deadline is one for all. Prints how each ended.
int await_all(producer& from, const std::vector<enqueued_task>& tasks, duration wait, bool json) {
  // The client's threads may still draw when this has returned.
  auto bar = std::make_shared<progress_bar>();
  std::size_t done = 0;
  auto until = std::chrono::steady_clock::now() + wait;
  int status = exit_done;
  for (const auto& task : tasks) {
    auto left = std::chrono::ceil<duration>(until - std::chrono::steady_clock::now());
    bar->draw(done, tasks.size(), {});
    auto told = [bar, done, total = tasks.size()](const task_progress& progress) {
      bar->draw(done, total, std::to_string(progress.percent) + "% " + progress.note);
    };
    // Nobody is told of what nobody sees.
    auto ended = from.watch(
      task.id, bar->is_shown() ? told : producer::progressed(), std::max(left, duration{0}));
    bar->clear();
    ++done;
    if (!ended && ended.error().code == errc::timeout) {
      static_cast<void>(fail(ended.error(), json));
      return exit_not_ended;
    }
    if (!ended)
      return fail(ended.error(), json);
    print(json ? ended_json(*ended) : ended_text(*ended));
    if (ended->state != task_state::completed)
      status = exit_not_completed;
  }
  return status;
}

} // namespace

int run(const config::ctl_config& config, config::enqueue_command command) {
  producer_options options;
  options.coordinators = config.coordinators;
  options.name = "codeqctl";
  options.access = config.access;
  auto client = producer::connect(std::move(options));
  if (!client)
    return fail(client.error(), config.json);
  auto task = std::move(command.task);
  task.payload = command.payload == "-" ? read_payload() : std::move(command.payload);
  auto batch = batch_of(task);
  std::vector<enqueued_task> all;
  for (std::size_t added = 0; added < command.count;) {
    auto count = std::min(batch, command.count - added);
    auto tasks = enqueue_copies(**client, task, count, config.timeout);
    if (!tasks)
      return fail(explain(tasks.error(), config), config.json);
    print(config.json ? to_json(*tasks) : to_text(*tasks));
    added += count;
    if (command.wait)
      all.insert(all.end(), tasks->begin(), tasks->end());
  }
  if (command.wait)
    return await_all(**client, all, *command.wait, config.json);
  return exit_done;
}

} // namespace codeq::ctl
