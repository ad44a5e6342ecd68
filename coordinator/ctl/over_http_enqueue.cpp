// SPDX-License-Identifier: Apache-2.0
#include "ctl/over_http_enqueue.hpp"

#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/gateway.hpp"
#include "ctl/output.hpp"
#include "ctl/payload.hpp"
#include "ctl/text.hpp"
#include "http/json_reader.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

using std::chrono::steady_clock;

/// One item of a batch's answer: the id of the task, or why there is none.
result<std::string> id_of(std::string_view item) {
  auto object = http::json_object::parse(item);
  if (!object)
    return error{errc::protocol_error, "the gateway's answer cannot be read"};
  if (auto task = object->object("task"))
    return task->text("id");
  return error{errc::invalid_argument, object->text("error")};
}

/// Adds `count` copies of a task and prints their ids.
result<std::vector<std::string>>
add_copies(const gateway& to, const std::string& task, std::size_t count, bool json) {
  base::json_writer body;
  body.begin_object().begin_array("tasks");
  for (std::size_t i = 0; i < count; ++i)
    body.raw(task);
  body.end_array().end_object();
  auto answer = to.ask("POST", "/tasks/batch", body.take());
  if (!answer)
    return answer.error();
  auto object = http::json_object::parse(*answer);
  std::vector<std::string> ids;
  for (auto item : object ? object->elements("results") : std::vector<std::string_view>()) {
    auto id = id_of(item);
    if (!id)
      return id.error();
    if (!json)
      print(*id + "\n");
    ids.push_back(std::move(*id));
  }
  if (json)
    print(*answer + "\n");
  return ids;
}

/// The result of a task and the task, as the gateway tells them; nothing when it has not ended by
/// then. It is asked again each minute, which is how long it waits.
result<std::optional<std::string>>
await_end(const gateway& from, const std::string& id, std::optional<duration> wait) {
  auto until = steady_clock::now() + wait.value_or(duration{0});
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::seconds>(until - steady_clock::now());
    auto most = std::chrono::duration_cast<std::chrono::seconds>(limits::http_wait_max);
    auto seconds = std::clamp(left, std::chrono::seconds(0), most).count();
    auto answer = from.wait_for("/tasks/" + id + "/result?waitSeconds=" + std::to_string(seconds));
    if (answer)
      return std::optional(std::move(*answer));
    bool is_open = answer.error().context == "HTTP 404: result not found";
    if (!is_open)
      return answer.error();
    if (steady_clock::now() >= until)
      return std::optional<std::string>();
  }
}

/// What a producer learns of an end.
struct ending {
  std::string state;
  /// Of a completed task.
  std::string result;
  std::string error_text;
};

ending read_ending(std::string_view json) {
  ending end;
  auto both = http::json_object::parse(json);
  auto task = both ? both->object("task") : std::nullopt;
  auto result = both ? both->object("result") : std::nullopt;
  if (!task || !result)
    return end;
  end.state = task->text("state");
  auto raw = result->raw("result");
  // What is no JSON comes as a text.
  end.result = raw.starts_with('"') ? result->text("result")
               : raw == "null"      ? ""
                                    : std::string(raw);
  end.error_text = result->text("error");
  return end;
}

int await_all(const gateway& from, const std::vector<std::string>& ids, duration wait, bool json) {
  auto until = steady_clock::now() + wait;
  int status = exit_done;
  for (const auto& id : ids) {
    auto left = std::chrono::ceil<duration>(until - steady_clock::now());
    auto told = await_end(from, id, std::max(left, duration{0}));
    if (!told)
      return fail(told.error(), json);
    if (!*told) {
      static_cast<void>(fail({errc::timeout, "task " + id + " has not ended in time"}, json));
      return exit_not_ended;
    }
    auto end = read_ending(**told);
    auto why = in_one_line(end.error_text);
    print(json ? **told + "\n" : id + " " + end.state + (why.empty() ? "" : ": " + why) + "\n");
    if (end.state != to_string(task_state::completed))
      status = exit_not_completed;
  }
  return status;
}

} // namespace

int enqueue_over_http(const config::ctl_config& config, config::enqueue_command command) {
  auto to = gateway::open(config);
  if (!to)
    return fail(to.error(), config.json);
  auto task = std::move(command.task);
  task.payload = command.payload == "-" ? read_payload() : std::move(command.payload);
  auto text = to_gateway_json(task);
  if (!text)
    return fail(text.error(), config.json);
  auto batch = std::clamp<std::size_t>(
    limits::http_body_bytes_max / text->size(), 1, limits::http_batch_tasks_max);
  std::vector<std::string> all;
  for (std::size_t added = 0; added < command.count;) {
    auto count = std::min(batch, command.count - added);
    auto ids = add_copies(*to, *text, count, config.json);
    if (!ids)
      return fail(ids.error(), config.json);
    added += count;
    if (command.wait)
      all.insert(all.end(), ids->begin(), ids->end());
  }
  return command.wait ? await_all(*to, all, *command.wait, config.json) : exit_done;
}

int result_over_http(const config::ctl_config& config, const config::result_command& command) {
  auto from = gateway::open(config);
  if (!from)
    return fail(from.error(), config.json);
  auto id = to_string(command.task);
  auto told = await_end(*from, id, command.wait);
  if (!told)
    return fail(told.error(), config.json);
  if (!*told) {
    complain("task " + id + " has not ended yet; --wait DURATION waits for its end");
    return exit_not_ended;
  }
  auto end = read_ending(**told);
  if (config.json)
    print(**told + "\n");
  else if (end.state == to_string(task_state::completed))
    print(end.result);
  if (end.state == to_string(task_state::completed))
    return exit_done;
  complain("task " + id + " is " + end.state + ": " + end.error_text);
  return exit_not_completed;
}

} // namespace codeq::ctl
