// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/json/task_input.hpp"
#include "http/routes/route_steps.hpp"

#include <array>
#include <string_view>

/// POST /tasks and POST /tasks/batch.
namespace codeq::http {

namespace {

using enqueued = std::function<void(result<task_detail>)>;

/// Callbacks share a task, since its payload may be long.
using shared_task = std::shared_ptr<const task_spec>;

/// The enqueues that a request waits for.
using open_enqueues = std::shared_ptr<std::vector<enqueue_ticket>>;

/// Has the request give up its enqueues when it is given up itself.
open_enqueues open_enqueues_of(gateway_context& context, exchange& call) {
  auto open = std::make_shared<std::vector<enqueue_ticket>>();
  call.on_given_up = [&context, open] {
    for (const auto& ticket : *open)
      context.desk.give_up(ticket);
  };
  return open;
}

/// One task of a request.
struct enqueue_item {
  const input& fields;
  open_enqueues open;
};

/// Makes room in the response for a payload that the request did not give; false when the tenant
/// has none.
bool make_room(const exchange_ptr& call, const task_detail& found) {
  auto bytes = found.payload ? 2 * found.payload->size() : 0;
  for (const auto& [name, text] : found.headers)
    bytes += 2 * (name.size() + text.size());
  return call->share && static_cast<bool>(call->share->resize(call->share->size() + bytes));
}

/// A task of a request that was stored.
struct stored_task {
  enqueued_task added;
  shared_task task;
  /// The answer to its enqueue came just now.
  bool is_new_answer = true;
};

/// The stored task as far as this request names it; its shard is not asked.
task_detail names_of(const enqueued_task& added, const task_spec& task) {
  task_detail stored;
  stored.status.id = added.id;
  stored.status.tenant = task.tenant;
  stored.status.queue = task.queue;
  stored.outcome = added.kind;
  stored.is_known = false;
  return stored;
}

/// Shows a task that was just added: its payload is the one at hand.
void show_added(
  gateway_context& context, const exchange_ptr& call, const stored_task& what, enqueued done) {
  const auto& added = what.added;
  const auto& task = what.task;
  auto stored = names_of(added, *task);
  bool is_new = added.kind == enqueue_kind::created;
  auto show = [stored = std::move(stored), call, is_new, task, done = std::move(done)](
                result<task_detail> found) {
    // An error would have the client add it once more.
    if (!found || (!is_new && !make_room(call, *found)))
      return done(stored);
    found->outcome = stored.outcome;
    if (is_new) {
      found->payload = task->payload;
      found->headers = task->headers;
    }
    done(std::move(found));
  };
  if (is_new && what.is_new_answer)
    context.desk.describe_added(added.id, std::move(show));
  else if (is_new)
    context.desk.describe({added.id, {}}, std::move(show));
  else
    context.desk.describe_with_body(task->tenant, {added.id, {}}, std::move(show));
}

/// The task of a request, whose key may stand in its header, too.
result<task_spec>
read_task(gateway_context& context, const exchange_ptr& call, const input& fields) {
  auto task = make_task(fields, call->by->tenant);
  if (auto ok = use_key_of_header(call->in.idempotency_key, task); !ok)
    return ok.error();
  if (auto ok = check_task(task, context.desk.now()); !ok)
    return ok.error();
  if (!call->by->may_use(task.queue))
    return refuse_command(task.queue);
  return task;
}

/// A refused duplicate names its key.
error with_key(const task_spec& task, const error& reason) {
  if (reason.code != errc::duplicate)
    return reason;
  return {reason.code, "'key' is " + quote(task.key) + ": " + reason.context};
}

void enqueue_one(
  gateway_context& context, const exchange_ptr& call, const enqueue_item& item, enqueued done) {
  auto webhook = item.fields.text("webhook");
  auto read = read_task(context, call, item.fields);
  if (!read)
    return done(read.error());
  if (!webhook.empty())
    if (auto ok = context.webhooks.check(call->by->tenant, webhook); !ok)
      return done(ok.error());
  auto task = std::make_shared<const task_spec>(std::move(*read));
  auto shown = [&context,
                call,
                task,
                webhook = std::move(webhook),
                open = item.open,
                done = std::move(done)](const result<enqueued_task>& added) {
    if (!added)
      return done(with_key(*task, added.error()));
    if (webhook.empty())
      return show_added(context, call, {*added, task}, done);
    auto remembered = [&context, call, added = *added, task, done](const result<void>& ok) {
      if (ok)
        return show_added(context, call, {added, task, false}, done);
      // A repeat finds the task by its key, and stores the webhook.
      if (!task->key.empty())
        return done(error{
          ok.error().code,
          "task " + to_string(added.id) + " was added, but not its webhook: "
            + ok.error().context});
      // Without a key an error would have the client add the task once more. The request may be at
      // its deadline, so the shard is not asked.
      auto stored = names_of(added, *task);
      stored.webhook_error = ok.error().context;
      done(std::move(stored));
    };
    const auto record =
      context.webhooks.add(added->id, task->tenant, webhook, std::move(remembered));
    context.desk.await_shard(record);
    open->push_back(record);
  };
  const auto ticket = context.desk.enqueue(task->tenant, *task, std::move(shown));
  context.desk.await_shard(ticket);
  item.open->push_back(ticket);
}

void enqueue(gateway_context& context, const exchange_ptr& call) {
  constexpr unsigned accepted = 202;
  auto finish = [&context, call](const result<task_detail>& task) {
    if (!task)
      return call->answer(refusal_of(task.error()));
    base::json_writer json;
    write_task(json, *task, view_for(context, *call));
    call->answer(reply(accepted, json));
  };
  auto open = open_enqueues_of(context, *call);
  enqueue_one(context, call, {call->fields->body, std::move(open)}, std::move(finish));
}

void write_items(
  gateway_context& context, const exchange_ptr& call, const std::vector<result<task_detail>>& all) {
  auto view = view_for(context, *call);
  base::json_writer json;
  json.begin_object().key("results").begin_array();
  for (const auto& one : all) {
    json.begin_object();
    if (one)
      write_task(json.key("task"), *one, view);
    else
      write_item_refusal(json, one.error());
    json.end_object();
  }
  json.end_array().end_object();
  call->answer(reply(200, json));
}

void enqueue_batch(gateway_context& context, const exchange_ptr& call) {
  if (!call->in.idempotency_key.empty())
    return call->answer(refusal(
      400, "a batch takes no header 'Idempotency-Key'; give each task an 'idempotencyKey'"));
  const auto& items = call->fields->body.items("tasks");
  using item = std::optional<result<task_detail>>;
  auto finish = [&context, call](std::vector<item> found) {
    std::vector<result<task_detail>> all;
    for (auto& one : found)
      all.push_back(std::move(*one));
    write_items(context, call, all);
  };
  auto gathered = std::make_shared<gathering<item>>(items.size(), std::move(finish));
  auto open = open_enqueues_of(context, *call);
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto set = [gathered, i](result<task_detail> task) { gathered->set(i, std::move(task)); };
    if (items[i])
      enqueue_one(context, call, {*items[i], open}, std::move(set));
    else
      set(items[i].error());
  }
}

/// Up to so many tasks.
constexpr input_field tasks_field(std::size_t most, std::string_view refusal_above) {
  return {
    .name = "tasks",
    .type = input_type::items,
    .is_required = true,
    .range = {1, static_cast<std::int64_t>(most)},
    .members = task_fields,
    .refusal = "invalid body",
    .refusal_above = refusal_above};
}

constexpr auto batch_fields = std::to_array<input_field>(
  {tasks_field(limits::http_batch_tasks_max, "batch size exceeds maximum of 100")});
static_assert(limits::http_batch_tasks_max == 100, "a refusal names it");

constexpr auto extended_batch_fields =
  std::to_array<input_field>({tasks_field(limits::http_extended_batch_max, extended_refusal)});

constexpr auto task_parameters = std::to_array<input_field>({payload_field});

constexpr auto enqueue_batch_parameters =
  std::to_array<input_field>({extended_field, payload_field});

constexpr std::array<route, 2> enqueue_table{{
  {.method = "POST",
   .pattern = "tasks",
   .who = access::producer,
   .rate = "create",
   .run = &enqueue,
   .fields = {.query = task_parameters, .body = {task_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/batch",
   .who = access::producer,
   .rate = "create",
   .run = &enqueue_batch,
   .fields =
     {.query = enqueue_batch_parameters,
      .body = {batch_fields},
      .need = body_need::required,
      .extended = {extended_batch_fields}},
   .counted = "tasks"},
}};

} // namespace

std::span<const route> enqueue_routes() {
  return enqueue_table;
}

} // namespace codeq::http
