// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/progress_bar.hpp"
#include "ctl/queue_settings.hpp"
#include "ctl/task_options.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

constexpr std::uint64_t enqueue_count_max = 10'000'000;

constexpr auto details =
  "Standard output is the id of each task, one per line. When the --key has a task already, it is "
  "the id of that one, and standard error says what happened to it; `outcomes` of --json has a "
  "word for it. created: the task is new. existing: nothing changed. deferred, promoted: it starts "
  "later, earlier. unchanged: its time stays. running: it runs, so its time cannot change. --wait "
  "adds a line for each task that has ended, ID STATE; `codeqctl result ID` writes a result. When "
  "not all tasks of --count can be added, none of a request is; over --http those are for which "
  "there is room. The ids of those that were added are printed in any case.";

struct enqueue_options {
  /// All fields except the payload and `settings`.
  task_spec task;
  queue_changes settings;
  /// `-` reads standard input.
  std::string payload = "-";
  std::size_t count = 1;
  std::string webhook{};
  /// Maximum time to wait for the tasks' ends; empty: do not wait.
  std::optional<duration> wait;
};

std::vector<option> place_options(enqueue_options& to) {
  return {
    queue_option(to.task.queue),
    placed(plain_option(
      "PAYLOAD", "PAYLOAD", "The task's payload; - or nothing reads it from stdin", to.payload)),
    tenant_option(to.task.tenant),
    count_option(
      "priority", "Priority, 0 to 9; 9 runs first [default: 0]", to.task.priority, {0, 9}),
    count_option(
      "count",
      "Number of tasks to add with this payload [default: 1]",
      to.count,
      {1, enqueue_count_max}),
    duration_option(
      "wait",
      "Wait until the tasks end, at most this long [default: do not wait]",
      to.wait,
      {duration{0}, wait_max}),
    duration_option(
      "delay",
      "Time until the task may be claimed [default: 0]",
      to.task.delay,
      {duration{0}, limits::not_before_ahead_max}),
    {.name = "at",
     .value = "TIME",
     .help = "Time before which the task may not be claimed, in place of --delay, such as "
             "2026-01-31T12:00:00Z [default: now]",
     .take = put_into(to.task.not_before, parse_time)},
    header_option(to.task),
    plain_option(
      "webhook",
      "URL",
      "URL to which the HTTP gateway posts the task's end; takes --http [default: none]",
      to.webhook),
    switch_option(
      "allow-promotion",
      "Let `codeqctl promote` lift --delay and --at, too [default: off]",
      to.task.allow_promotion)};
}

std::vector<option> grammar(enqueue_options& to) {
  auto options = place_options(to);
  auto default_of = [](const char* value) {
    return "[default: the queue's, " + std::string(value) + " unless set]";
  };
  for (auto& one : settings_options(to.settings, default_of))
    options.push_back(std::move(one));
  for (auto& one : key_options(to.task))
    options.push_back(std::move(one));
  return options;
}

result<void> check(const enqueue_options& given) {
  const auto& task = given.task;
  auto refuse = [](std::string text) { return error{errc::invalid_argument, std::move(text)}; };
  if (task.not_before && task.delay != duration{0})
    return refuse("--at and --delay are both given; give one of them");
  if (!task.key.empty() && given.count > 1)
    return refuse(
      "--count: " + quote(std::to_string(given.count)) + " tasks cannot share --key; it must be 1");
  if (task.key.empty() && task.duplicate != on_duplicate::existing)
    return refuse("--on-duplicate needs --key");
  if (task.key.empty() && task.replace_payload)
    return refuse("--replace-payload needs --key");
  return {};
}

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

/// One id per line, and nothing else: scripts take it as the id.
std::string to_text(const std::vector<enqueued_task>& tasks) {
  std::string text;
  for (const auto& task : tasks)
    text += to_string(task.id) + "\n";
  return text;
}

/// Says what the enqueue did to the task that has the key already; empty for a new task.
std::string duplicate_text(const enqueued_task& task) {
  auto text = "the key has task " + to_string(task.id) + " already; nothing was added";
  switch (task.kind) {
  case enqueue_kind::created:
    return {};
  case enqueue_kind::deferred:
    return text + ", and the task starts later than before";
  case enqueue_kind::promoted:
    return text + ", and the task starts earlier than before";
  case enqueue_kind::unchanged:
    return text + ", and the task's time stays";
  case enqueue_kind::running:
    return text + ", because the task runs";
  case enqueue_kind::existing:
  case enqueue_kind::duplicate:
    break;
  }
  return text;
}

void tell_duplicates(const std::vector<enqueued_task>& tasks) {
  for (const auto& task : tasks)
    if (auto text = duplicate_text(task); !text.empty())
      complain(text);
}

void print_added(const std::vector<enqueued_task>& added, bool json) {
  if (added.empty())
    return;
  print(json ? to_json(added) : to_text(added));
  if (!json)
    tell_duplicates(added);
}

/// `ID STATE` on one line, with the error of a task that failed.
std::string ended_text(const ended_task& status) {
  auto line = to_string(status.id) + " " + std::string(to_string(status.state));
  auto why = in_one_line(status.error_text);
  return line + (why.empty() ? "" : ": " + why) + "\n";
}

/// Waits for the tasks one after the other until a common deadline, and prints how each ended.
int await_all(context& with, const std::vector<task_id>& tasks, duration wait) {
  progress_bar bar(with.api.tells_progress());
  std::size_t done = 0;
  auto told = [&](const task_progress& progress) {
    bar.draw(done, tasks.size(), std::to_string(progress.percent) + "% " + progress.note);
  };
  auto until = std::chrono::steady_clock::now() + wait;
  int status = exit_done;
  for (auto task : tasks) {
    auto left = std::chrono::ceil<duration>(until - std::chrono::steady_clock::now());
    left = std::max(left, duration{0});
    bar.draw(done, tasks.size(), {});
    auto ended = bar.is_shown() ? with.api.watch(task, left, told) : with.api.await(task, left);
    bar.clear();
    ++done;
    if (!ended)
      return fail(ended.error(), with.json);
    if (!ended->status) {
      error late{errc::timeout, "task " + to_string(task) + " has not ended in time"};
      return fail_waiting(with, task, ended->late.value_or(late));
    }
    print(with.json ? ended_json(*ended) : ended_text(*ended->status));
    if (ended->status->state != task_state::completed)
      status = exit_not_completed;
  }
  return status;
}

int run(context& with, const enqueue_options& given) {
  if (!given.webhook.empty() && !with.api.sends_webhooks())
    return fail(
      {errc::unsupported,
       "--webhook is not possible over --coordinator; it takes --http: the HTTP gateway sends it"},
      with.json);
  if (auto ready = with.api.prepare_enqueue(); !ready)
    return fail(ready.error(), with.json);
  enqueue_request request{given.task, given.count, given.webhook};
  take_settings(given.settings, request.task);
  auto payload = payload_of(given.payload);
  if (!payload)
    return fail(payload.error(), with.json);
  request.task.payload = std::move(*payload);
  std::vector<task_id> all;
  auto told = [&](const std::vector<enqueued_task>& added) {
    print_added(added, with.json);
    for (const auto& one : added)
      if (given.wait)
        all.push_back(one.id);
  };
  if (auto ok = with.api.enqueue(request, told); !ok)
    return fail(ok.error(), with.json);
  return given.wait ? await_all(with, all, *given.wait) : exit_done;
}

} // namespace

void add_enqueue(command_table& to) {
  to.add(command<enqueue_options>{
    .name = "enqueue",
    .help = "Add tasks and print their ids",
    .grammar = grammar,
    .run = run,
    .check = check,
    .details = details});
}

} // namespace codeq::ctl
