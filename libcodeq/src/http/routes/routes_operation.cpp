// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_list.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

/// Operations on all tasks that match a filter: durable, paced, paused and resumed. Admins start
/// and change them, readers look at them.
namespace codeq::http {

namespace {

/// Errors: `invalid_argument` for a field that the kind does not have.
result<void> check_fields(operation_kind kind, const input& body) {
  bool is_of_dead = kind == operation_kind::redrive || kind == operation_kind::purge;
  auto named = std::string(operation_kinds[static_cast<std::size_t>(kind)]);
  auto refuse = [&](std::string_view name, const std::string& rule) {
    return refuse_input(
      {},
      describe_value(
        "'" + std::string(name) + "'",
        std::string(body.raw(name)),
        rule + " when 'kind' is \"" + named + "\""));
  };
  for (auto name : {older_field.name, newer_field.name})
    if (!is_of_dead && body.has(name))
      return refuse(name, "left out");
  if (kind != operation_kind::redrive && body.has("canary"))
    return refuse("canary", "left out");
  if (auto headers = body.text_map("headers").size(); headers > limits::filter_headers_max)
    return refuse_input(
      {},
      describe_value(
        "'headers'",
        std::to_string(headers) + " headers",
        "at most " + std::to_string(limits::filter_headers_max)));
  auto state = body.choice("state");
  if (!state)
    return {};
  auto wanted = static_cast<task_state>(*state);
  if (is_of_dead && wanted != task_state::dead)
    return refuse("state", "dead or left out");
  if (kind == operation_kind::cancel && is_terminal(wanted))
    return refuse("state", "one of scheduled, gated, ready, leased");
  bool can_wait = wanted == task_state::scheduled || wanted == task_state::gated;
  if (kind == operation_kind::promote && !can_wait)
    return refuse("state", "one of scheduled, gated");
  return {};
}

/// True when the body narrows the tasks down, of which a kind may have a state of its own.
bool has_filter(operation_kind kind, const input& body) {
  constexpr auto names = std::to_array<std::string_view>(
    {"queue", "group", "key", "worker", "error", "since", "until", "olderThan", "newerThan"});
  bool has_state = kind == operation_kind::cancel && body.has("state");
  return has_state || !body.text_map("headers").empty()
         || std::any_of(names.begin(), names.end(), [&](auto name) { return body.has(name); });
}

/// Reads the body. @pre the fields fit the kind
operation_request request_of(gateway_context& context, const exchange& call) {
  const auto& body = call.fields->body;
  auto now = context.desk.now();
  operation_request request;
  request.tenant = call.by->tenant;
  request.kind = static_cast<operation_kind>(*body.choice("kind"));
  auto& filter = request.filter;
  if (auto state = body.choice("state"))
    filter.state = static_cast<task_state>(*state);
  filter.group = body.text("group");
  filter.key = body.text("key");
  filter.error = body.text("error");
  filter.headers = body.text_map("headers");
  // A worker of this gateway is shown by its subject.
  if (auto worker = body.text("worker"); !worker.empty())
    filter.workers = {worker, worker_name_of(request.tenant, worker)};
  filter.enqueued = {
    body.past("since", now).value_or(timestamp{}), body.past("until", now).value_or(timestamp{})};
  if (auto age = body.period(newer_field.name))
    filter.ended.since = now - *age;
  if (auto age = body.period(older_field.name))
    filter.ended.until = now - *age + duration{1};
  request.rate = static_cast<std::uint64_t>(body.integer("rate").value_or(0));
  request.limit = static_cast<std::uint64_t>(body.integer("limit").value_or(0));
  if (auto canary = body.integer("canary"))
    request.canary = static_cast<std::uint32_t>(*canary);
  return request;
}

void write(gateway_context& context, base::json_writer& json, const shown_operation& shown) {
  json.begin_object();
  write_operation(json, shown.operation, context.desk.shard_count(), shown.problem);
  if (!shown.coordinator.empty())
    json.field("coordinator", shown.coordinator);
  json.end_object();
}

/// Answers with the operation, once it is durable.
void answer_operation(
  gateway_context& context, const exchange_ptr& call, unsigned status, const std::string& id) {
  auto show = [&context, call, status](const result<shown_operation>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    base::json_writer json;
    write(context, json, *found);
    call->answer(reply(status, json));
  };
  context.operations.find(call->by->tenant, id, std::move(show));
}

void start(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  auto kind = static_cast<operation_kind>(*body.choice("kind"));
  bool is_loss = kind == operation_kind::purge || kind == operation_kind::cancel;
  auto ok = check_fields(kind, body);
  if (ok)
    ok = check_whole(body, has_filter(kind, body), is_loss);
  if (ok)
    ok = context.operations.check_ready();
  if (ok)
    ok = context.operations.check(call->by->tenant);
  auto queue = queue_listed(*call->by, body.text("queue"));
  if (ok && !queue)
    ok = queue.error();
  if (!ok)
    return call->answer(refusal_of(ok.error()));
  auto request = request_of(context, *call);
  request.filter.queue = std::move(*queue);
  auto id = std::make_shared<std::string>();
  auto done = [&context, call, id](const result<void>& stored) {
    if (!stored)
      return call->answer(refusal_of(stored.error()));
    answer_operation(context, call, 202, *id);
  };
  *id = context.operations.begin(
    std::move(request), context.operations.user_of(*call), std::move(done));
}

void list_operations(gateway_context& context, const exchange_ptr& call) {
  auto show = [&context, call](const result<std::vector<shown_operation>>& all) {
    if (!all)
      return call->answer(refusal_of(all.error()));
    base::json_writer json;
    json.begin_object().begin_array("operations");
    for (const auto& one : *all)
      write(context, json, one);
    json.end_array().end_object();
    call->answer(reply(200, json));
  };
  context.operations.list(call->by->tenant, std::move(show));
}

void show_operation(gateway_context& context, const exchange_ptr& call) {
  answer_operation(context, call, 200, call->arguments[0]);
}

void alter(gateway_context& context, const exchange_ptr& call, operation_change what) {
  const auto& id = call->arguments[0];
  auto done = [&context, call](const result<void>& stored) {
    if (!stored)
      return call->answer(refusal_of(stored.error()));
    answer_operation(context, call, 200, call->arguments[0]);
  };
  context.operations.alter(
    {call->by->tenant, id, what, context.operations.user_of(*call), {}}, std::move(done));
}

void pause_operation(gateway_context& context, const exchange_ptr& call) {
  alter(context, call, operation_change::pause);
}

void resume_operation(gateway_context& context, const exchange_ptr& call) {
  alter(context, call, operation_change::resume);
}

void cancel_operation(gateway_context& context, const exchange_ptr& call) {
  alter(context, call, operation_change::cancel);
}

constexpr std::int64_t percent_max = 100;

constexpr auto start_fields = std::to_array<input_field>({
  {.name = "kind", .type = input_type::choice, .is_required = true, .choices = operation_kinds},
  all_field,
  queue_changed_field,
  command_changed_field,
  {.name = "state", .type = input_type::choice, .choices = base::state_names},
  group_filter_field,
  {.name = "key", .range = at_most(limits::key_bytes_max)},
  {.name = "idempotencyKey", .same_as = "key", .range = at_most(limits::key_bytes_max)},
  {.name = "worker", .range = at_most(limits::http_worker_name_bytes_max)},
  {.name = "headers", .type = input_type::text_map, .range = at_most(limits::headers_bytes_max)},
  error_filter_field,
  {.name = "since", .type = input_type::past, .zero_is_unset = true},
  {.name = "until", .type = input_type::past},
  older_field,
  newer_field,
  {.name = "limit", .type = input_type::integer},
  {.name = "rate", .type = input_type::integer, .range = at_most(limits::bulk_rate_max)},
  {.name = "canary", .type = input_type::integer, .range = {0, percent_max}},
});

constexpr std::array<route, 6> operation_table{{
  {.method = "GET",
   .pattern = "admin/operations",
   .who = access::inspect,
   .rate = "admin",
   .run = &list_operations},
  {.method = "POST",
   .pattern = "admin/operations",
   .who = access::admin,
   .rate = "admin",
   .run = &start,
   .fields = {.body = {start_fields}, .need = body_need::required}},
  {.method = "GET",
   .pattern = "admin/operations/:",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_operation},
  {.method = "POST",
   .pattern = "admin/operations/:/pause",
   .who = access::admin,
   .rate = "admin",
   .run = &pause_operation},
  {.method = "POST",
   .pattern = "admin/operations/:/resume",
   .who = access::admin,
   .rate = "admin",
   .run = &resume_operation},
  {.method = "POST",
   .pattern = "admin/operations/:/cancel",
   .who = access::admin,
   .rate = "admin",
   .run = &cancel_operation},
}};

} // namespace

std::span<const route> operation_routes() {
  return operation_table;
}

} // namespace codeq::http
