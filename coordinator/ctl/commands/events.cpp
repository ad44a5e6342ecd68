// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

void write_event(base::json_writer& out, const task_event& event) {
  out.begin_object().field("at_ms", event.at.time_since_epoch().count());
  out.field("event", to_string(event.what)).field("by", to_string(event.by));
  if (event.attempt != 0) {
    out.field("attempt", event.attempt);
    // As text: a JSON number cannot hold every token exactly.
    out.field("token", std::to_string(value(event.token)));
  }
  if (!event.worker.empty())
    out.field("worker", event.worker);
  if (!event.subject.empty())
    out.field("subject", event.subject);
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

/// For example "scheduled until 2026-01-31 12:00:00.000 UTC".
std::string state_text(task_state state, timestamp until) {
  auto text = std::string(to_string(state));
  return until == timestamp{} ? text : text + " until " + to_string(until);
}

/// True when the kind of the event does not imply the task's state after it.
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

std::string line_of(const task_event& event) {
  auto text = to_string(event.at) + "  " + std::string(to_string(event.what)) + " by "
              + std::string(to_string(event.by));
  if (!event.worker.empty() && event.by == task_event::author::worker)
    text += " " + printable(event.worker);
  if (!event.subject.empty())
    text += " " + printable(event.subject);
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
    text += line_of(event);
    if (event.what == task_event::kind::enqueued && timeline.dropped > 0)
      text += "(earlier events that are not kept: " + std::to_string(timeline.dropped) + ")\n";
  }
  return text + "now " + state_text(timeline.state, timeline.until) + "\n";
}

int run(context& with, const task_id& task) {
  return show(
    with,
    with.api.events(task),
    [&](const task_timeline& timeline) { return to_json(task, timeline); },
    to_text);
}

} // namespace

void add_events(command_table& to) {
  to.add(command<task_id>{
    .name = "events",
    .help = "Show the history of a task",
    .grammar = [](task_id& task) { return std::vector{id_option(task)}; },
    .run = run});
}

} // namespace codeq::ctl
