// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"
#include "codeq/producer.hpp"

#include "ctl/commands.hpp"
#include "ctl/json_writer.hpp"
#include "ctl/output.hpp"
#include "ctl/reach.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

/// Reads stdin to its end, or to one byte more than a payload may have.
std::string read_stdin() {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (text.size() <= limits::payload_bytes_max) {
    auto got = std::fread(part.data(), 1, part.size(), stdin);
    if (got == 0)
      break;
    text.append(part.data(), got);
  }
  return text;
}

std::string ids_json(const std::vector<task_id>& ids) {
  json_writer out;
  out.begin_object().begin_array("ids");
  for (auto id : ids)
    out.element(to_string(id));
  return out.end_array().end_object().text() + "\n";
}

std::string ids_text(const std::vector<task_id>& ids) {
  std::string text;
  for (auto id : ids)
    text += to_string(id) + "\n";
  return text;
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
  auto why = printable(status.error_text);
  std::replace(why.begin(), why.end(), '\n', ' ');
  return line + (why.empty() ? "" : ": " + why) + "\n";
}

/// Waits for each task in turn; the deadline is one for all. Prints how each ended.
int await_all(producer& from, const std::vector<task_id>& ids, duration wait, bool json) {
  auto until = std::chrono::steady_clock::now() + wait;
  int status = exit_done;
  for (auto id : ids) {
    auto left = std::chrono::ceil<duration>(until - std::chrono::steady_clock::now());
    auto ended = from.await(id, std::max(left, duration{0}));
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

int run_enqueue(const config::ctl_config& config, config::enqueue_command command) {
  producer_options options;
  options.coordinators = config.coordinators;
  options.name = "codeqctl";
  auto client = producer::connect(std::move(options));
  if (!client)
    return fail(client.error(), config.json);
  auto task = std::move(command.task);
  task.payload = command.payload == "-" ? read_stdin() : std::move(command.payload);
  auto batch = batch_of(task);
  std::vector<task_id> all;
  for (std::size_t added = 0; added < command.count;) {
    auto count = std::min(batch, command.count - added);
    auto ids = (*client)->enqueue(std::vector<task_spec>(count, task), config.timeout);
    if (!ids)
      return fail(explain(ids.error(), config), config.json);
    print(config.json ? ids_json(*ids) : ids_text(*ids));
    added += count;
    if (command.wait)
      all.insert(all.end(), ids->begin(), ids->end());
  }
  if (command.wait)
    return await_all(**client, all, *command.wait, config.json);
  return exit_done;
}

} // namespace codeq::ctl
