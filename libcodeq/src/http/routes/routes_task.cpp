// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "client/limit_questions.hpp"
#include "http/json/input_refusal.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_list.hpp"

#include <array>

/// Reads of tasks by every token of their tenant, and changes by producers.
namespace codeq::http {

namespace {

void show_task(gateway_context& context, const exchange_ptr& call) {
  auto show = [&context, call](const result<task_detail>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    add_last_change(context.desk, *found, [&context, call](const task_detail& task) {
      base::json_writer json;
      write_task(json, task, view_for(context, *call));
      call->answer(reply(200, json));
    });
  };
  find_own(context, call, call->arguments[0], true, std::move(show));
}

void write_ended(gateway_context& context, const exchange_ptr& call, const task_detail& task) {
  result_record record;
  record.id = task.status.id;
  record.state = task.status.state;
  record.result = task.status.result;
  bool is_cancelled = task.status.state == task_state::cancelled;
  record.error_text = is_cancelled ? "cancelled" : task.status.error_text;
  record.at = task.updated_at.value_or(task.status.enqueued_at);
  record.is_failure = task.status.state != task_state::completed;
  if (record.is_failure)
    record.will_retry = false;
  base::json_writer json;
  json.begin_object();
  write_task(json.key("task"), task, view_for(context, *call));
  write_result(json.key("result"), record);
  json.end_object();
  call->answer(reply(200, json));
}

void refuse_task(const exchange_ptr& call) {
  call->answer(refusal(404, missing_task("task not found", *call->by, call->arguments[0])));
}

/// Answers why the task cannot be read.
void refuse_read(const exchange_ptr& call, const error& why) {
  if (why.code == errc::unknown_task)
    return refuse_task(call);
  call->answer(refusal_of(why));
}

void refuse_result(const exchange_ptr& call) {
  auto path = "/v1/codeq/tasks/" + call->arguments[0];
  call->answer(refusal(
    404,
    "result not found: task " + quote(call->arguments[0]) + " has not ended; GET " + path
      + "/explain says what it waits for"));
}

/// Shows the result of a task that has ended.
void show_ended(gateway_context& context, const exchange_ptr& call) {
  auto show = [&context, call](const result<task_detail>& found) {
    if (!found)
      return refuse_read(call, found.error());
    add_last_change(context.desk, *found, [&context, call](const task_detail& task) {
      write_ended(context, call, task);
    });
  };
  find_own(context, call, call->arguments[0], true, std::move(show));
}

void await_end(gateway_context& context, const exchange_ptr& call, task_id id, duration wait) {
  auto ended = [&context, call](const result<ended_task>& how) {
    call->on_gone = nullptr;
    if (how)
      return show_ended(context, call);
    if (how.error().code == errc::timeout)
      return refuse_result(call);
    call->answer(refusal_of(how.error()));
  };
  put_off_deadline(context, *call, wait);
  call->is_waiting = true;
  auto name = context.desk.watch(id, wait, std::move(ended));
  call->on_gone = [&context, call = std::weak_ptr(call), name] {
    context.desk.unwatch(name);
    if (auto open = call.lock())
      open->answer(no_content());
  };
}

void show_result(gateway_context& context, const exchange_ptr& call) {
  auto wait = call->fields->query.period("waitSeconds").value_or(duration{0});
  auto show = [&context, call, wait](const result<task_detail>& found) {
    if (!found)
      return refuse_read(call, found.error());
    if (is_terminal(found->status.state))
      return show_ended(context, call);
    if (wait == duration{0})
      return refuse_result(call);
    await_end(context, call, found->status.id, wait);
  };
  find_own(context, call, call->arguments[0], false, std::move(show));
}

void answer_explanation(const exchange_ptr& call, const task_explanation& why) {
  base::json_writer json;
  write_explanation(json, why);
  call->answer(reply(200, json));
}

/// Answers with the explanation of a task that a limit holds back. Only the shard that owns the key
/// knows whether it is closed, and when the next start is possible.
void explain_limited(
  gateway_context& context, const exchange_ptr& call, const task_explanation& why) {
  const limit_address limit{why.task.tenant, why.limit};
  auto shard = client::shard_of_key(limit, why.limit_key, context.desk.shard_count());
  context.desk.ask<client::limits_part>(
    shard,
    client::ask_limit_key(shard, limit, why.limit_key),
    &client::read_limits,
    [&context, call, why](const result<client::limits_part>& part) {
      auto shown = why;
      if (part)
        client::add_owned(shown, *part, context.desk.now());
      answer_explanation(call, shown);
    });
}

void explain_task(gateway_context& context, const exchange_ptr& call) {
  auto ask = [&context, call](const result<task_detail>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    auto id = found->status.id;
    auto show = [&context, call, text = found->status.error_text](result<task_explanation> why) {
      if (!why)
        return call->answer(refusal_of(why.error()));
      if (why->reason == task_reason::limited)
        return explain_limited(context, call, *why);
      if (why->reason == task_reason::dead || why->reason == task_reason::retry_waiting)
        why->error_text = text;
      answer_explanation(call, *why);
    };
    context.desk.ask<task_explanation>(
      value(id.shard),
      client::ask_explain(id),
      &client::read_explain,
      shard_desk::then<task_explanation>(std::move(show)));
  };
  find_own(context, call, call->arguments[0], false, std::move(ask));
}

void show_events(gateway_context& context, const exchange_ptr& call) {
  auto ask = [&context, call](const result<task_detail>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    auto id = found->status.id;
    auto show = [call](const result<task_timeline>& timeline) {
      if (!timeline)
        return call->answer(refusal_of(timeline.error()));
      base::json_writer json;
      write_timeline(json, *timeline);
      call->answer(reply(200, json));
    };
    context.desk.ask<task_timeline>(
      value(id.shard),
      client::ask_events(id),
      &client::read_events,
      shard_desk::then<task_timeline>(std::move(show)));
  };
  find_own(context, call, call->arguments[0], false, std::move(ask));
}

void list_tasks(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  task_filter filter;
  if (auto state = query.choice("state"))
    filter.state = static_cast<task_state>(*state);
  filter.group = query.text("group");
  filter.key = query.text("key");
  filter.error = query.text("error");
  filter.headers = query.text_map("header");
  // A worker of this gateway is shown by its subject.
  if (auto worker = query.text("worker"); !worker.empty())
    filter.workers = {worker, worker_name_of(call->by->tenant, worker)};
  filter.enqueued = {
    query.past("since", context.desk.now()).value_or(timestamp{}),
    query.past("until", context.desk.now()).value_or(timestamp{})};
  list_page(context, call, std::move(filter));
}

void change_own(gateway_context& context, const exchange_ptr& call, task_change what) {
  auto change = [&context, call, what](const result<task_detail>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    change_task(context, call, {found->status.id, {}}, what);
  };
  find_own(context, call, call->arguments[0], false, std::move(change));
}

void cancel_task(gateway_context& context, const exchange_ptr& call) {
  change_own(context, call, task_change::cancel);
}

void promote(gateway_context& context, const exchange_ptr& call) {
  change_own(context, call, task_change::promote);
}

/// Errors: `invalid_argument` for a name or a key that no task has.
result<void> check_key(const task_key& key) {
  if (auto ok = check_queue_name("command", key.queue.queue); !ok)
    return ok;
  auto bytes = key.key.size();
  if (bytes > 0 && bytes <= limits::key_bytes_max)
    return {};
  auto rule = "1.." + std::to_string(limits::key_bytes_max) + " bytes";
  return refuse_input(
    "invalid command or key", describe_value("'key'", std::to_string(bytes) + " bytes", rule));
}

/// The task that queue, key and the query's group name; answers when the caller may not ask.
std::optional<client::task_address> key_meant(gateway_context& context, const exchange_ptr& call) {
  task_key key;
  key.queue = {call->by->tenant, call->arguments[0]};
  key.key = call->arguments[1];
  key.group = call->fields->query.text("group");
  if (auto ok = check_key(key); !ok) {
    call->answer(refusal_of(ok.error()));
    return std::nullopt;
  }
  if (!call->by->may_use(key.queue.queue)) {
    call->answer(refusal_of(refuse_command(key.queue.queue)));
    return std::nullopt;
  }
  return client::address_of(key, context.desk.shard_count());
}

void show_keyed(gateway_context& context, const exchange_ptr& call) {
  auto key = key_meant(context, call);
  if (!key)
    return;
  auto show = [&context, call](const result<task_detail>& found) {
    if (!found && found.error().code == errc::unknown_task)
      return call->answer(refusal(404, missing_key(*call)));
    if (!found)
      return call->answer(refusal_of(found.error()));
    base::json_writer json;
    write_task(json, *found, view_for(context, *call));
    call->answer(reply(200, json));
  };
  context.desk.describe_with_body(call->by->tenant, *key, std::move(show));
}

void cancel_keyed(gateway_context& context, const exchange_ptr& call) {
  if (auto key = key_meant(context, call))
    change_task(context, call, *key, task_change::cancel);
}

void promote_keyed(gateway_context& context, const exchange_ptr& call) {
  if (auto key = key_meant(context, call))
    change_task(context, call, *key, task_change::promote);
}

constexpr auto list_tasks_parameters = std::to_array<input_field>({
  queue_filter_field,
  command_filter_field,
  {.name = "state", .type = input_type::choice, .choices = base::state_names},
  group_filter_field,
  {.name = "key", .range = at_most(limits::key_bytes_max)},
  {.name = "idempotencyKey", .same_as = "key", .range = at_most(limits::key_bytes_max)},
  {.name = "worker", .range = at_most(limits::http_worker_name_bytes_max)},
  {.name = "header", .type = input_type::text_map, .range = at_most(limits::headers_bytes_max)},
  error_filter_field,
  {.name = "since", .type = input_type::past, .zero_is_unset = true},
  {.name = "until", .type = input_type::past},
  order_field,
  limit_field,
  after_field,
  {.name = "payload", .instead = "lists have no payload; GET /v1/codeq/tasks/ID?payload=json has"},
  {.name = "status",
   .instead = "'state' is one of scheduled, gated, ready, leased, completed, dead, cancelled"},
});

constexpr auto shown_task_parameters = std::to_array<input_field>({payload_field});

constexpr auto result_parameters = std::to_array<input_field>({wait_field, payload_field});

constexpr input_field group_field{.name = "group", .range = at_most(limits::group_bytes_max)};

constexpr auto key_parameters = std::to_array<input_field>({group_field});

constexpr auto keyed_task_parameters = std::to_array<input_field>({group_field, payload_field});

constexpr std::array<route, 10> task_table{{
  {.method = "GET",
   .pattern = "tasks",
   .who = access::any,
   .run = &list_tasks,
   .fields = {.query = list_tasks_parameters}},
  {.method = "GET",
   .pattern = "tasks/:",
   .who = access::any,
   .run = &show_task,
   .fields = {.query = shown_task_parameters}},
  {.method = "GET",
   .pattern = "tasks/:/result",
   .who = access::any,
   .run = &show_result,
   .fields = {.query = result_parameters}},
  {.method = "GET", .pattern = "tasks/:/explain", .who = access::any, .run = &explain_task},
  {.method = "GET", .pattern = "tasks/:/events", .who = access::any, .run = &show_events},
  {.method = "POST", .pattern = "tasks/:/cancel", .who = access::producer, .run = &cancel_task},
  {.method = "POST", .pattern = "tasks/:/promote", .who = access::producer, .run = &promote},
  {.method = "GET",
   .pattern = "queues/:/keys/:",
   .who = access::read,
   .run = &show_keyed,
   .fields = {.query = keyed_task_parameters}},
  {.method = "POST",
   .pattern = "queues/:/keys/:/cancel",
   .who = access::producer,
   .run = &cancel_keyed,
   .fields = {.query = key_parameters}},
  {.method = "POST",
   .pattern = "queues/:/keys/:/promote",
   .who = access::producer,
   .run = &promote_keyed,
   .fields = {.query = key_parameters}},
}};

} // namespace

std::span<const route> task_routes() {
  return task_table;
}

} // namespace codeq::http
