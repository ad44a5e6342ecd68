// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_result.hpp"

#include <algorithm>
#include <array>

/// The reports of a worker about a task that it claimed.
namespace codeq::http {

namespace {

std::string ended_lease(std::string_view id) {
  return "not-in-progress: the lease of task " + quote(id)
         + " is over, and nothing that is reported under it counts; claim again";
}

/// The refusal of a report: what the task's state says, or that the lease is over.
std::string unheld(std::string_view id, const error& reason) {
  return reason.context.starts_with("not-in-progress") ? reason.context : ended_lease(id);
}

/// Answers a refusal in the words of these routes; the path names the task.
void refuse_report(const exchange_ptr& call, const error& reason) {
  const auto& id = call->arguments[0];
  if (reason.code == errc::unknown_task)
    return call->answer(refusal(404, missing_task("not-found", *call->by, id)));
  if (reason.code == errc::stale_lease)
    return call->answer(refusal(409, unheld(id, reason)));
  call->answer(refusal_of(reason));
}

/// Calls `go(task, token)` when the caller holds the lease that the call's body means.
void with_lease(
  gateway_context& context,
  const exchange_ptr& call,
  std::function<void(const task_detail&, fencing_token)> go) {
  auto wish = lease_meant(call->fields->body, context.needs_token);
  if (!wish)
    return refuse_report(call, wish.error());
  auto check = [call, wish = *wish, go = std::move(go)](const result<task_detail>& task) {
    if (!task)
      return refuse_report(call, task.error());
    auto token = token_of(*task, wish, *call->by);
    if (!token)
      return refuse_report(call, token.error());
    go(*task, *token);
  };
  find_own(context, call, call->arguments[0], false, std::move(check));
}

/// Answers `{"ok":true}`, or why not.
shard_desk::then<void> answer_ok(const exchange_ptr& call) {
  return [call](const result<void>& done) {
    if (!done)
      return refuse_report(call, done.error());
    base::json_writer json;
    json.begin_object().field("ok", true).end_object();
    call->answer(reply(200, json));
  };
}

/// Answers how long the lease is valid, and whether the worker should stop; or why not.
shard_desk::then<task_detail> answer_lease(gateway_context& context, const exchange_ptr& call) {
  return [&context, call](const result<task_detail>& task) {
    if (!task)
      return refuse_report(call, task.error());
    base::json_writer json;
    json.begin_object()
      .field("ok", true)
      .field("leaseUntil", base::to_rfc3339(context.desk.now() + task->lease_left))
      .field("cancelRequested", task->status.cancel_requested)
      .end_object();
    call->answer(reply(200, json));
  };
}

void beat(gateway_context& context, const exchange_ptr& call) {
  auto extend = call->fields->body.period("extendSeconds").value_or(duration{0});
  with_lease(context, call, [&context, call, extend](const auto& task, auto token) {
    context.desk.beat({task.status.id, token, extend}, answer_lease(context, call));
  });
}

void tell_progress(gateway_context& context, const exchange_ptr& call) {
  with_lease(context, call, [&context, call](const auto& task, auto token) {
    const auto& body = call->fields->body;
    lease_heartbeat said{task.status.id, token};
    said.percent = static_cast<std::uint8_t>(*body.integer("percent"));
    said.note = body.text("note");
    context.desk.beat(said, answer_lease(context, call));
  });
}

void save_checkpoint(gateway_context& context, const exchange_ptr& call) {
  with_lease(context, call, [&context, call](const auto& task, auto token) {
    // An empty checkpoint is none, so that null takes back what was saved.
    auto checkpoint = call->fields->body.raw("checkpoint");
    context.desk.save_checkpoint(
      task.status, token, checkpoint == "null" ? "" : checkpoint, answer_ok(call));
  });
}

/// Writes what became of a task that its worker gave back.
void write_given_back(base::json_writer& json, const task_status& task) {
  bool is_dead = task.state == task_state::dead;
  bool is_cancelled = task.state == task_state::cancelled;
  json.field("status", is_dead ? "dlq" : is_cancelled ? "cancelled" : "requeued")
    .field("state", to_string(task.state));
  if (!is_terminal(task.state) && task.eligible_at)
    json.field("retryAt", base::to_rfc3339(*task.eligible_at));
}

void abandon(gateway_context& context, const exchange_ptr& call) {
  auto show = [call](const result<task_detail>& task) {
    base::json_writer json;
    json.begin_object();
    // It is stored, whether or not anybody can tell what it led to.
    if (task)
      write_given_back(json, task->status);
    else
      json.field("status", "requeued");
    json.end_object();
    call->answer(reply(200, json));
  };
  with_lease(context, call, [&context, call, show](const auto& task, auto token) {
    attempt_end end{task.status.id, token, disposition::abandon};
    context.desk.report(end, [&context, call, show, id = end.task](const result<void>& how) {
      if (!how && how.error().code != errc::already)
        return refuse_report(call, how.error());
      context.desk.describe({id, {}}, show);
    });
  });
}

/// The whole seconds, rounded up, until a task may run that was given back with such a wish.
std::int64_t
delay_seconds(gateway_context& context, const task_status& task, const attempt_end& end) {
  auto left = duration{0};
  if (end.how == disposition::limited)
    left = is_terminal(task.state) ? duration{0} : *end.delay;
  else if (task.eligible_at)
    left = std::max(duration{0}, *task.eligible_at - context.desk.now());
  // The clock here is a moment behind that of the shard, which must not count as a second.
  left = std::min(left, end.delay.value_or(left));
  return std::chrono::ceil<std::chrono::seconds>(left).count();
}

/// Tells where a task went that was given back with a delay, which the worker may have wished.
void show_delay(gateway_context& context, const exchange_ptr& call, const attempt_end& end) {
  context.desk.describe({end.task, {}}, [&context, call, end](const result<task_detail>& task) {
    base::json_writer json;
    if (!task) {
      // It is stored; where the task went could not be found out.
      constexpr unsigned accepted = 202;
      json.begin_object().field("status", "accepted").end_object();
      return call->answer(reply(accepted, json));
    }
    json.begin_object().field("delaySeconds", delay_seconds(context, task->status, end));
    write_given_back(json, task->status);
    json.end_object();
    call->answer(reply(200, json));
  });
}

/// Refuses fields that do not fit the one that says whether a limit was met.
result<void> check_limited(const input& body) {
  constexpr std::array<std::string_view, 3> more{"retryAfterSeconds", "limit", "key"};
  bool is_limited = body.flag("limited").value_or(false);
  if (is_limited && body.has("delaySeconds"))
    return refuse_input(
      {}, "'delaySeconds' is given with 'limited'; 'retryAfterSeconds' says how long to wait");
  if (is_limited && !body.has("retryAfterSeconds"))
    return refuse_input({}, "'retryAfterSeconds' is required with 'limited'");
  for (auto name : more)
    if (!is_limited && body.has(name))
      return refuse_input({}, quote_name({}, name) + " is given without 'limited'");
  return {};
}

/// The end of an attempt that a body of `nack_fields` describes, without its task and token.
result<attempt_end> read_nack(const input& body) {
  if (auto ok = check_limited(body); !ok)
    return ok.error();
  auto costs = read_costs(body);
  if (!costs)
    return costs.error();
  attempt_end end;
  bool is_limited = body.flag("limited").value_or(false);
  end.how = is_limited ? disposition::limited : disposition::nack;
  end.text = body.text("reason");
  end.delay = body.period(is_limited ? "retryAfterSeconds" : "delaySeconds");
  end.limit_name = body.text("limit");
  end.costs = std::move(*costs);
  return end;
}

void nack(gateway_context& context, const exchange_ptr& call) {
  auto read = read_nack(call->fields->body);
  if (!read)
    return call->answer(refusal_of(read.error()));
  with_lease(context, call, [&context, call, end = *read](const auto& task, auto token) mutable {
    auto key = call->fields->body.text("key");
    if (auto ok = check_limit_meant(task.status.limits, end.limit_name, key); !ok)
      return call->answer(refusal_of(ok.error()));
    end.task = task.status.id;
    end.token = token;
    context.desk.report(end, [&context, call, end](const result<void>& how) {
      if (!how && how.error().code != errc::already)
        return refuse_report(call, how.error());
      show_delay(context, call, end);
    });
  });
}

void submit(gateway_context& context, const exchange_ptr& call) {
  auto finish = [call](const result<result_record>& record) {
    if (!record && record.error().code == errc::unknown_task)
      return call->answer(
        refusal(404, missing_task("task not found", *call->by, call->arguments[0])));
    if (!record)
      return refuse_report(call, record.error());
    base::json_writer json;
    write_result(json, *record);
    call->answer(reply(200, json));
  };
  submit_result(context, call, call->arguments[0], call->fields->body, std::move(finish));
}

struct batch_item {
  std::string id;
  std::optional<result<result_record>> record;
};

/// The refusal of one result in the words of these routes.
error in_words(const caller& by, const std::string& id, const error& reason) {
  if (reason.code == errc::unknown_task)
    return {reason.code, missing_task("task not found", by, id)};
  if (reason.code == errc::stale_lease)
    return {reason.code, unheld(id, reason)};
  return reason;
}

void write_items(const exchange_ptr& call, const std::vector<batch_item>& items) {
  base::json_writer json;
  json.begin_object().key("results").begin_array();
  for (const auto& item : items) {
    json.begin_object().field("taskId", item.id);
    const auto& record = *item.record;
    if (record)
      write_result(json.key("result"), *record);
    else
      write_item_refusal(json, in_words(*call->by, item.id, record.error()));
    json.end_object();
  }
  json.end_array().end_object();
  call->answer(reply(200, json));
}

void submit_batch(gateway_context& context, const exchange_ptr& call) {
  const auto& items = call->fields->body.items("results");
  auto finish = [call](const std::vector<batch_item>& all) { write_items(call, all); };
  auto gathered = std::make_shared<gathering<batch_item>>(items.size(), std::move(finish));
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto id = items[i] ? items[i]->text("taskId") : std::string();
    auto set = [gathered, i, id](result<result_record> record) {
      gathered->set(i, {id, std::move(record)});
    };
    if (items[i])
      submit_result(context, call, id, *items[i], std::move(set));
    else
      set(items[i].error());
  }
}

constexpr auto heartbeat_fields = std::to_array<input_field>({
  {.name = "extendSeconds",
   .type = input_type::seconds,
   .zero_is_unset = true,
   .range = lease_seconds_range},
  token_field,
});

constexpr auto progress_fields = std::to_array<input_field>({
  {.name = "percent", .type = input_type::integer, .is_required = true, .range = {0, 100}},
  {.name = "note", .range = at_most(limits::progress_note_bytes_max)},
  token_field,
});

constexpr auto checkpoint_fields = std::to_array<input_field>({
  {.name = "checkpoint",
   .type = input_type::json,
   .is_required = true,
   .range = at_most(limits::checkpoint_bytes_max)},
  token_field,
});

constexpr auto abandon_fields = std::to_array<input_field>({token_field});

constexpr auto nack_fields = std::to_array<input_field>({
  {.name = "delaySeconds",
   .type = input_type::seconds,
   .range = seconds_in(duration{0}, limits::retry_max)},
  {.name = "delay",
   .type = input_type::period,
   .same_as = "delaySeconds",
   .range = retry_delay_range},
  {.name = "reason", .range = at_most(limits::error_text_bytes_max)},
  {.name = "limited", .type = input_type::flag},
  {.name = "retryAfterSeconds",
   .type = input_type::seconds,
   .range = seconds_in(duration{0}, limits::limit_closed_max)},
  {.name = "retryAfter",
   .type = input_type::period,
   .same_as = "retryAfterSeconds",
   .range = milliseconds_in(duration{0}, limits::limit_closed_max)},
  {.name = "limit", .type = input_type::queue},
  {.name = "key", .range = at_most(limits::limit_key_bytes_max)},
  costs_field,
  token_field,
});

constexpr auto task_id_fields = std::to_array<input_field>({
  {.name = "taskId", .is_required = true},
  {.name = "id", .same_as = "taskId"},
});

/// `result_fields` behind the task's id.
constexpr auto batch_item_fields = [] {
  std::array<input_field, task_id_fields.size() + result_fields.size()> all{};
  auto rest = std::copy(task_id_fields.begin(), task_id_fields.end(), all.begin());
  std::copy(result_fields.begin(), result_fields.end(), rest);
  return all;
}();

/// Up to so many results.
constexpr input_field results_field(std::size_t most, std::string_view refusal_above) {
  return {
    .name = "results",
    .type = input_type::items,
    .is_required = true,
    .range = {1, static_cast<std::int64_t>(most)},
    .members = batch_item_fields,
    .refusal = "invalid body",
    .refusal_above = refusal_above};
}

constexpr auto report_batch_fields = std::to_array<input_field>(
  {results_field(limits::http_batch_tasks_max, "batch size exceeds maximum of 100")});
static_assert(limits::http_batch_tasks_max == 100, "a refusal names it");

constexpr auto extended_report_batch_fields =
  std::to_array<input_field>({results_field(limits::http_extended_batch_max, extended_refusal)});

constexpr auto report_batch_parameters = std::to_array<input_field>({extended_field});

constexpr std::array<route, 7> lease_table{{
  {.method = "POST",
   .pattern = "tasks/:/heartbeat",
   .who = access::worker,
   .scope = "codeq:heartbeat",
   .run = &beat,
   .fields = {.body = {heartbeat_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/:/progress",
   .who = access::worker,
   .scope = "codeq:heartbeat",
   .run = &tell_progress,
   .fields = {.body = {progress_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/:/checkpoint",
   .who = access::worker,
   .scope = "codeq:heartbeat",
   .run = &save_checkpoint,
   .fields = {.body = {checkpoint_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/:/abandon",
   .who = access::worker,
   .scope = "codeq:abandon",
   .run = &abandon,
   .fields = {.body = {abandon_fields}}},
  {.method = "POST",
   .pattern = "tasks/:/nack",
   .who = access::worker,
   .scope = "codeq:nack",
   .run = &nack,
   .fields = {.body = {nack_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/:/result",
   .who = access::worker,
   .scope = "codeq:result",
   .run = &submit,
   .fields = {.body = {result_fields, "invalid request body"}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/batch/results",
   .who = access::worker,
   .scope = "codeq:result",
   .run = &submit_batch,
   .fields =
     {.query = report_batch_parameters,
      .body = {report_batch_fields},
      .need = body_need::required,
      .extended = {extended_report_batch_fields}}},
}};

} // namespace

std::span<const route> lease_routes() {
  return lease_table;
}

} // namespace codeq::http
