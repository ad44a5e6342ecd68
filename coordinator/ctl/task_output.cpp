// SPDX-License-Identifier: Apache-2.0
#include "ctl/task_output.hpp"

#include "base/json_writer.hpp"
#include "ctl/text.hpp"

#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

/// The text of a `task_status` or `ended_task`.
template <class Status>
void add_end(base::json_writer& out, const Status& status) {
  if (status.state == task_state::completed)
    out.bytes_field("result", status.result);
  else if (!status.error_text.empty())
    out.bytes_field("error_text", status.error_text);
}

/// The limits of a task; nothing when it has none.
void write_limits(base::json_writer& out, const std::vector<task_limit>& uses) {
  if (uses.empty())
    return;
  out.begin_array("limits");
  for (const auto& use : uses) {
    out.begin_object().field("name", use.name);
    if (!use.key.empty())
      out.bytes_field("key", use.key);
    out.field("cost", use.cost).end_object();
  }
  out.end_array();
}

/// As `--limit` takes it.
std::string limit_text_of(const task_limit& use) {
  return use.name + ":" + in_one_line(use.key) + ":" + std::to_string(use.cost);
}

void add_summary(base::json_writer& out, const task_summary& status) {
  out.field("id", to_string(status.id));
  out.field("tenant", status.tenant).field("queue", status.queue);
  out.field("priority", status.priority).field("state", to_string(status.state));
  out.field("attempt", status.attempt).field("max_attempts", status.max_attempts);
  // As text: a JSON number cannot hold every token exactly.
  out.field("token", std::to_string(value(status.token)));
  out.field("enqueued_at_ms", status.enqueued_at.time_since_epoch().count());
  if (status.eligible_at)
    out.field("eligible_at_ms", status.eligible_at->time_since_epoch().count());
  if (!status.worker.empty())
    out.field("worker", status.worker);
  if (status.cancel_requested)
    out.field("cancel_requested", true);
  out.field("lost_in_row", status.lost_in_row);
  if (!status.group.empty())
    out.bytes_field("group", status.group);
  if (!status.key.empty())
    out.bytes_field("key", status.key);
  if (!status.fairness_key.empty())
    out.bytes_field("fairness_key", status.fairness_key);
  if (status.fairness_weight != 1)
    out.field("fairness_weight", status.fairness_weight);
  write_limits(out, status.limits);
  if (status.ended_at)
    out.field("ended_at_ms", status.ended_at->time_since_epoch().count());
}

/// The error of the last attempt; empty when there is none.
std::string last_error_text(operator_api& api, task_id task) {
  auto answer = api.status(task);
  const auto* status = answer ? std::get_if<task_status>(&*answer) : nullptr;
  if (!status || status->error_text.empty())
    return {};
  return "; last error: " + in_one_line(status->error_text);
}

/// Says why a task has not ended yet. Over HTTP it only points to `explain`, since the document
/// that a gateway answers is not interpreted.
std::string
unfinished_text(operator_api& api, task_id task, const answer<task_explanation>& explained) {
  const auto* why = explained ? std::get_if<task_explanation>(&*explained) : nullptr;
  if (!why)
    return {};
  return ": " + to_sentence(*why) + last_error_text(api, task);
}

} // namespace

int fail_waiting(const context& with, task_id task, const error& late) {
  auto cause = with.api.cause_of(late);
  if (cause.code != errc::timeout)
    return fail(cause, with.json);
  const auto explained = with.api.explain(task);
  // The task may have ended at a shard that does not answer.
  if (!explained && is_retryable(explained.error().code))
    return fail(explained.error(), with.json);
  cause.context += unfinished_text(with.api, task, explained) + "; see `codeqctl explain "
                   + to_string(task) + "`";
  static_cast<void>(fail(cause, with.json));
  return exit_not_ended;
}

void write_summary(base::json_writer& out, const task_summary& task) {
  out.begin_object();
  add_summary(out, task);
  if (!task.error_text.empty())
    out.bytes_field("error_text", task.error_text);
  out.end_object();
}

std::string status_json(const task_status& status) {
  base::json_writer out;
  out.begin_object();
  add_summary(out, status);
  if (const auto& progress = status.progress) {
    out.begin_object("progress").field("percent", progress->percent);
    out.bytes_field("note", progress->note);
    out.end_object();
  }
  add_end(out, status);
  return out.end_object().take() + "\n";
}

std::string status_text(const task_status& status) {
  using std::to_string;
  std::vector<std::pair<std::string, std::string>> fields{
    {"id", to_string(status.id)},
    {"queue", printable(status.tenant + "/" + status.queue)},
    {"state", std::string(to_string(status.state))},
    {"priority", to_string(status.priority)},
    {"attempt", to_string(status.attempt) + " of " + to_string(status.max_attempts)},
    {"token", to_string(value(status.token))},
    {"enqueued", to_string(status.enqueued_at)}};
  if (status.eligible_at)
    fields.emplace_back("eligible", to_string(*status.eligible_at));
  if (!status.worker.empty())
    fields.emplace_back("worker", printable(status.worker));
  if (status.progress)
    fields.emplace_back(
      "progress",
      to_string(status.progress->percent) + "% " + in_one_line(status.progress->note));
  if (status.cancel_requested)
    fields.emplace_back("cancel", "requested; the handler was asked to stop");
  if (!status.group.empty())
    fields.emplace_back("group", in_one_line(status.group));
  if (!status.key.empty())
    fields.emplace_back("key", in_one_line(status.key));
  if (!status.fairness_key.empty())
    fields.emplace_back("fairness key", in_one_line(status.fairness_key));
  if (status.fairness_weight != 1)
    fields.emplace_back("fairness weight", to_string(status.fairness_weight));
  for (const auto& use : status.limits)
    fields.emplace_back("limit", limit_text_of(use));
  if (status.lost_in_row != 0)
    fields.emplace_back("lost in row", to_string(status.lost_in_row));
  if (status.state == task_state::completed)
    fields.emplace_back("result", to_string(status.result.size()) + " bytes");
  if (!status.error_text.empty())
    fields.emplace_back("error", printable(status.error_text));
  return format_fields(fields);
}

std::string ended_json(const task_end& end) {
  const auto& status = *end.status;
  base::json_writer out;
  out.begin_object().field("id", to_string(status.id));
  out.field("state", to_string(status.state)).field("attempt", status.attempt);
  add_end(out, status);
  return out.end_object().take() + "\n";
}

} // namespace codeq::ctl
