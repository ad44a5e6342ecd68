// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/client.hpp"
#include "ctl/commands.hpp"
#include "ctl/queue_output.hpp"
#include "ctl/task_output.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

std::string to_json(const task_explanation& why) {
  base::json_writer out;
  out.begin_object().field("id", to_string(why.task.id));
  out.field("state", to_string(why.task.state)).field("reason", to_string(why.reason));
  out.bytes_field("sentence", to_sentence(why));
  out.field("attempt", why.task.attempt).field("max_attempts", why.task.max_attempts);
  out.field("workers", why.workers);
  if (why.until != timestamp{})
    out.field("until_ms", why.until.time_since_epoch().count());
  if (why.reason == task_reason::gated || why.reason == task_reason::blocked)
    out.field("blocker", to_string(why.blocker))
      .field("blocker_state", to_string(why.blocker_state));
  if (why.reason == task_reason::leased)
    out.field("worker", why.task.worker).field("lease_left_ms", why.lease_left.count());
  out.begin_object("queue_settings");
  write_config(out, why.queue);
  out.end_object();
  return out.end_object().take() + "\n";
}

std::string to_text(const task_explanation& why) {
  std::vector<std::pair<std::string, std::string>> fields{
    {"max-depth", limit_text(why.queue.max_depth)},
    {"max-leased", limit_text(why.queue.max_leased)}};
  for (auto& field : config_fields(why.queue))
    fields.push_back(std::move(field));
  return printable(to_sentence(why)) + "\n\nsettings of its queue on its shard\n"
         + format_fields(fields);
}

void write_event(base::json_writer& out, const task_event& event) {
  out.begin_object().field("at_ms", event.at.time_since_epoch().count());
  out.field("event", to_string(event.what)).field("by", to_string(event.by));
  if (event.attempt != 0) {
    out.field("attempt", event.attempt);
    // As text: a token may be larger than what a JSON number holds exactly.
    out.field("token", std::to_string(value(event.token)));
  }
  if (!event.worker.empty())
    out.field("worker", event.worker);
  if (!event.text.empty())
    out.bytes_field("text", event.text);
  if (event.what != task_event::kind::enqueued)
    out.field("state", to_string(event.state));
  if (event.until != timestamp{})
    out.field("until_ms", event.until.time_since_epoch().count());
  out.end_object();
}

std::string to_json(task_id task, const task_timeline& timeline) {
  base::json_writer out;
  out.begin_object().field("id", to_string(task)).begin_array("events");
  for (const auto& event : timeline.events)
    write_event(out, event);
  out.end_array().field("dropped", timeline.dropped);
  out.field("state", to_string(timeline.state));
  if (timeline.until != timestamp{})
    out.field("until_ms", timeline.until.time_since_epoch().count());
  return out.end_object().take() + "\n";
}

/// "scheduled until 2026-01-31 12:00:00.000 UTC".
std::string state_text(task_state state, timestamp until) {
  auto text = std::string(to_string(state));
  return until == timestamp{} ? text : text + " until " + to_string(until);
}

/// True when the event alone does not say how the task was from then on.
bool has_to_say_state(const task_event& event) {
  using kind = task_event::kind;
  static constexpr std::array clear{
    kind::enqueued,
    kind::granted,
    kind::completed,
    kind::cancelled,
    kind::cancel_requested,
    kind::payload_replaced,
    kind::forced_to_complete};
  return std::find(clear.begin(), clear.end(), event.what) == clear.end();
}

std::string to_text(const task_event& event) {
  auto text = to_string(event.at) + "  " + std::string(to_string(event.what)) + " by "
              + std::string(to_string(event.by));
  if (!event.worker.empty() && event.by == task_event::author::worker)
    text += " " + printable(event.worker);
  if (event.attempt != 0)
    text += ", attempt " + std::to_string(event.attempt);
  if (!event.worker.empty() && event.by != task_event::author::worker)
    text += ", worker " + printable(event.worker);
  if (has_to_say_state(event))
    text += ", then " + state_text(event.state, event.until);
  if (!event.text.empty())
    text += ": " + in_one_line(event.text);
  return text + "\n";
}

std::string to_text(const task_timeline& timeline) {
  std::string text;
  for (const auto& event : timeline.events) {
    text += to_text(event);
    if (event.what == task_event::kind::enqueued && timeline.dropped > 0)
      text += "(earlier events that are not kept: " + std::to_string(timeline.dropped) + ")\n";
  }
  return text + "now " + state_text(timeline.state, timeline.until) + "\n";
}

std::string to_json(const std::vector<task_status>& tasks) {
  base::json_writer out;
  out.begin_object().begin_array("tasks");
  for (const auto& task : tasks)
    write_status(out, task);
  return out.end_array().end_object().take() + "\n";
}

std::string to_text(const std::vector<task_status>& tasks) {
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

} // namespace

int run(const config::ctl_config& config, const config::explain_command& command) {
  auto ask = [&](operator_client& client) { return client.explain(command.task); };
  return ask_and_show(config, ask, [&](const task_explanation& why) {
    print(config.json ? to_json(why) : to_text(why));
    return exit_done;
  });
}

int run(const config::ctl_config& config, const config::events_command& command) {
  auto ask = [&](operator_client& client) { return client.events(command.task); };
  return ask_and_show(config, ask, [&](const task_timeline& timeline) {
    print(config.json ? to_json(command.task, timeline) : to_text(timeline));
    return exit_done;
  });
}

int run(const config::ctl_config& config, const config::list_command& command) {
  auto ask = [&](operator_client& client) { return client.list(command.filter, command.limit); };
  return ask_and_show(config, ask, [&](const std::vector<task_status>& tasks) {
    print(config.json ? to_json(tasks) : to_text(tasks));
    return exit_done;
  });
}

} // namespace codeq::ctl
