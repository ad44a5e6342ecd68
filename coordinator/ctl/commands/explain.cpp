// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/known_queue.hpp"
#include "ctl/limit_options.hpp"
#include "ctl/queue_settings.hpp"
#include "ctl/text.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::ctl {

namespace {

/// The settings of its queue mean something for the task. They are not known once it has ended.
bool has_settings(const task_explanation& why) {
  return why.reason != task_reason::completed && why.reason != task_reason::cancelled;
}

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
  if (why.reason == task_reason::limited)
    out.field("limit", why.limit)
      .bytes_field("limit_key", why.limit_key)
      .field("held_before", why.limit_before);
  if (why.is_out_of_limit_keys)
    out.field("out_of_limit_keys", true);
  if (why.limit_closed_until != timestamp{})
    out.field("closed_until", base::to_rfc3339(why.limit_closed_until));
  if (why.reason == task_reason::fairness)
    out.bytes_field("fairness_key", why.fairness_key)
      .field("turns_before", why.fairness_before);
  if (why.reason == task_reason::fairness && why.fairness_wait != duration::max())
    out.field("wait_ms", why.fairness_wait.count());
  if (why.reason == task_reason::leased)
    out.field("worker", why.task.worker)
      .field("lease_left_ms", why.lease_left.count())
      .field("waits_at_worker", why.waits_at_worker);
  if (has_settings(why)) {
    out.begin_object("queue_settings");
    write_config(out, why.queue);
    out.end_object();
  }
  return out.end_object().take() + "\n";
}

/// Names the workers of the queue that an operator has drained: a shard knows only that they take
/// nothing. Empty when there are none, and when the token may not see the workers.
std::string drained_of(operator_api& api, const queue_address& queue) {
  const auto got = api.workers();
  const auto* list = got ? std::get_if<worker_list>(&*got) : nullptr;
  std::string text;
  if (list)
    for (const auto& worker : list->workers)
      if (worker.is_draining && serves(worker, queue))
        text += "; " + printable(worker.name) + " is drained, `codeqctl worker resume "
                + printable(worker.name) + "` takes it back";
  return text;
}

/// The commands that may help; they are printed behind the sentence.
std::string hint_of(operator_api& api, const task_explanation& why) {
  if (why.reason == task_reason::no_worker)
    return "; `codeqctl workers` shows the queues of each worker";
  bool may_lack_workers =
    why.reason == task_reason::no_free_slots || why.reason == task_reason::fairness;
  return may_lack_workers ? drained_of(api, {why.task.tenant, why.task.queue}) : std::string();
}

std::string to_text(const task_explanation& why, const std::string& hint) {
  if (!has_settings(why))
    return printable(to_sentence(why)) + "\n";
  std::vector<std::pair<std::string, std::string>> fields{
    {"max-depth", limit_text(why.queue.max_depth)},
    {"max-leased", limit_text(why.queue.max_leased)}};
  for (auto& field : config_fields(why.queue))
    fields.push_back(std::move(field));
  return printable(to_sentence(why)) + hint + "\n\nsettings of its queue, as its shard has them\n"
         + format_fields(fields);
}

std::uint64_t backlog_of(const queue_explanation& why) {
  std::uint64_t tasks = 0;
  for (const auto& [reason, waiting] : why.waiting)
    tasks += waiting;
  return tasks;
}

void write_key(base::json_writer& out, const limit_wait& wait) {
  out.begin_object().field("limit", wait.limit).bytes_field("key", wait.at.key);
  out.field("held", wait.at.held).field("leased", wait.at.leased);
  if (auto start = next_start_of(wait.at))
    out.field("next_start", base::to_rfc3339(*start));
  if (wait.at.closed_until != timestamp{})
    out.field("closed_until", base::to_rfc3339(wait.at.closed_until));
  out.end_object();
}

std::string queue_json(const queue_explanation& why) {
  base::json_writer out;
  out.begin_object().field("tenant", why.queue.tenant).field("queue", why.queue.queue);
  out.field("exists", why.exists).field("backlog", backlog_of(why)).begin_object("waiting");
  for (const auto& [reason, tasks] : why.waiting)
    out.field(to_string(reason), tasks);
  out.end_object().field("leased", why.leased).field("workers", why.workers);
  out.field("blocking", why.blocking).begin_array("limits");
  for (const auto& wait : why.limits)
    out.begin_object().field("name", wait.limit).field("held", wait.at.held).end_object();
  out.end_array().begin_array("keys");
  for (const auto& wait : why.keys)
    write_key(out, wait);
  out.end_array().field("all_keys", why.has_all_keys);
  out.field("starts_per_minute", why.starts_per_minute);
  if (why.last_start)
    out.field("last_start_ms", why.last_start->count());
  out.begin_array("missing_shards");
  for (auto shard : why.missing_shards)
    out.number(std::uint64_t{shard});
  return out.end_array().end_object().take() + "\n";
}

const char* meaning_of(task_reason reason) {
  switch (reason) {
  case task_reason::deferred:
    return "their producer deferred them";
  case task_reason::retry_waiting:
    return "they wait for their next attempt";
  case task_reason::gated:
  case task_reason::blocked:
    return "an earlier task of their group has to end first";
  case task_reason::queue_paused:
    return "the queue is paused";
  case task_reason::no_worker:
    return "no connected worker claims from the queue; see `codeqctl workers`";
  case task_reason::queue_at_max_leased:
    return "the queue has as many leases as it may";
  case task_reason::no_free_slots:
    return "all of its workers are busy or drained";
  case task_reason::next:
    return "they are handed out in their turn";
  case task_reason::limited:
    return "a limit holds them back";
  case task_reason::fairness:
    return "other fairness keys get the next slots; see `codeqctl queue fairness`";
  case task_reason::leased:
  case task_reason::completed:
  case task_reason::dead:
  case task_reason::cancelled:
    break;
  }
  return "";
}

std::string limits_text(const queue_explanation& why) {
  if (why.limits.empty())
    return {};
  std::vector<std::vector<std::string>> rows{
    {"LIMIT", "KEY", "HELD", "LEASED", "NEXT START", "CLOSED UNTIL"}};
  for (const auto& wait : why.limits)
    rows.push_back({wait.limit, "all", std::to_string(wait.at.held), "-", "-", "-"});
  for (const auto& wait : why.keys)
    rows.push_back(
      {wait.limit,
       wait.at.key.empty() ? "(empty)" : in_one_line(wait.at.key),
       std::to_string(wait.at.held),
       std::to_string(wait.at.leased),
       start_text(wait.at),
       closed_text(wait.at)});
  auto text = "\n" + format_table(rows);
  return why.has_all_keys ? text : text + "other keys, which were not looked at, may hold more\n";
}

/// When the last task that waits for no time starts: as the limits allow, or at the rate of now.
std::string last_start_text(duration until, bool is_by_limits) {
  auto time = format_duration(std::chrono::ceil<std::chrono::seconds>(until));
  if (is_by_limits)
    return "by max-leased and the limits the last one that waits for no time starts in " + time
           + " or later\n";
  return "at this rate the last one that waits for no time starts in about " + time + "\n";
}

/// The sentences below the tables.
std::string notes_of(const queue_explanation& why) {
  std::string text;
  if (why.blocking > 0)
    text += std::to_string(why.blocking) + " dead tasks block their groups\n";
  if (why.starts_per_minute > 0)
    text += std::to_string(why.starts_per_minute) + " tasks started per minute lately\n";
  if (why.last_start)
    text += last_start_text(*why.last_start, *why.last_start == why.limits_need);
  if (why.limits_need == duration::max())
    text += "a limit whose concurrency is 0 lets some of them not start\n";
  std::string missing;
  for (auto shard : why.missing_shards)
    missing += (missing.empty() ? "" : ", ") + std::to_string(shard);
  if (!missing.empty())
    text += "not counted are the tasks of shards that did not answer: " + missing + "\n";
  return text.empty() ? text : "\n" + text;
}

std::string queue_text(const queue_explanation& why, operator_api& api) {
  auto text = std::to_string(backlog_of(why)) + " tasks wait, " + std::to_string(why.leased)
              + " are leased, " + std::to_string(why.workers) + " workers claim from the queue\n";
  std::vector<std::vector<std::string>> rows{{"REASON", "TASKS"}};
  for (const auto& [reason, tasks] : why.waiting)
    rows.push_back(
      {std::string(to_string(reason)) + " (" + meaning_of(reason) + ")", std::to_string(tasks)});
  if (!why.waiting.empty())
    text += "\n" + format_table(rows);
  if (why.waiting.contains(task_reason::no_free_slots))
    if (const auto drained = drained_of(api, why.queue); !drained.empty())
      text += "\n" + drained.substr(2) + "\n";
  return text + limits_text(why) + notes_of(why);
}

struct explain_options {
  std::optional<task_id> task{};
  queue_address queue{};
};

std::vector<option> grammar(explain_options& to) {
  return {
    id_option(to.task, "; or --queue"),
    name_option(
      "queue", "Account for all waiting tasks of this queue [default: none]", to.queue.queue),
    tenant_option(to.queue.tenant)};
}

result<void> check(const explain_options& given) {
  if (given.task && !given.queue.queue.empty())
    return error{errc::invalid_argument, "ID and --queue are both given; give one of them"};
  if (!given.task && given.queue.queue.empty())
    return error{errc::invalid_argument, "ID is required, or --queue"};
  return {};
}

int run(context& with, const explain_options& given) {
  if (given.task)
    return show(
      with, with.api.explain(*given.task), to_json, [&](const task_explanation& why) {
        return to_text(why, hint_of(with.api, why));
      });
  auto got = with.api.explain_queue(given.queue);
  const auto* why = got ? std::get_if<queue_explanation>(&*got) : nullptr;
  if (why && !why->exists && why->missing_shards.empty())
    return fail(no_such_queue(given.queue, why->queue.tenant), with.json);
  return show(with, got, queue_json, [&](const queue_explanation& all) {
    return queue_text(all, with.api);
  });
}

} // namespace

void add_explain(command_table& to) {
  to.add(command<explain_options>{
    .name = "explain",
    .help = "Show why a task does not run, or why all tasks of a queue that wait do not",
    .grammar = grammar,
    .run = run,
    .check = check,
    .details = "For a queue: the number of tasks per reason, which sum to its scheduled, gated and "
               "ready tasks; the limits and limit keys that hold back most of them; and, at the "
               "rate of the last minute, when the last task that waits for no time starts, but not "
               "before --max-leased and the limits allow it, as far as a shard knows run times and "
               "held tasks, and only if each can start. A shard "
               "is a part of the store, to which a task belongs; --max-leased, --max-depth and "
               "limits count over all shards."});
}

} // namespace codeq::ctl
