// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/task_input.hpp"
#include "http/routes/route_steps.hpp"

#include <algorithm>
#include <array>

/// POST /tasks and POST /tasks/batch.
namespace codeq::http {

namespace {

using enqueued = std::function<void(result<task_detail>)>;

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
  json_object& json;
  open_enqueues open;
};

/// Shows a task that was just added: its payload is the one at hand.
void show_added(
  gateway_context& context, const enqueued_task& added, const task_spec& task, enqueued done) {
  task_detail stored;
  stored.status.id = added.id;
  stored.status.tenant = task.tenant;
  stored.status.queue = task.queue;
  stored.outcome = added.kind;
  stored.is_known = false;
  bool is_new = added.kind == enqueue_kind::created;
  auto show = [stored = std::move(stored), is_new, payload = task.payload, done = std::move(done)](
                result<task_detail> found) {
    // An error would have the client add it once more.
    if (!found)
      return done(stored);
    found->outcome = stored.outcome;
    if (is_new)
      found->payload = payload;
    done(std::move(found));
  };
  context.desk.describe({added.id, {}}, !is_new, std::move(show));
}

void enqueue_one(
  gateway_context& context, const exchange_ptr& call, const enqueue_item& item, enqueued done) {
  auto webhook = item.json.text("webhook");
  auto task = read_task(item.json, call->by->tenant);
  if (!task)
    return done(task.error());
  if (!webhook.empty())
    if (auto ok = context.webhooks.check(call->by->tenant, webhook); !ok)
      return done(ok.error());
  if (!call->by->may_use(task->queue))
    return done(error{errc::unauthorized, "command not allowed"});
  auto shown = [&context,
                task = *task,
                webhook = std::move(webhook),
                open = item.open,
                done = std::move(done)](const result<enqueued_task>& added) {
    if (!added)
      return done(added.error());
    if (webhook.empty())
      return show_added(context, *added, task, done);
    auto remembered = [&context, added = *added, task, done](const result<void>& ok) {
      if (!ok)
        return done(ok.error());
      show_added(context, added, task, done);
    };
    open->push_back(context.webhooks.add(added->id, task.tenant, webhook, std::move(remembered)));
  };
  item.open->push_back(context.desk.enqueue(task->tenant, *task, std::move(shown)));
}

void enqueue(gateway_context& context, const exchange_ptr& call) {
  auto body = body_of(call);
  if (!body)
    return;
  constexpr unsigned accepted = 202;
  auto finish = [&context, call](const result<task_detail>& task) {
    if (!task)
      return call->answer(refusal_of(task.error()));
    base::json_writer json;
    write_task(json, *task, context.desk.now());
    call->answer(reply(accepted, json));
  };
  enqueue_one(context, call, {*body, open_enqueues_of(context, *call)}, std::move(finish));
}

void write_items(
  gateway_context& context, const exchange_ptr& call, const std::vector<result<task_detail>>& all) {
  base::json_writer json;
  json.begin_object().key("results").begin_array();
  for (const auto& one : all) {
    json.begin_object();
    if (one)
      write_task(json.key("task"), *one, context.desk.now());
    else
      json.field("error", one.error().context);
    json.end_object();
  }
  json.end_array().end_object();
  call->answer(reply(200, json));
}

void enqueue_batch(gateway_context& context, const exchange_ptr& call) {
  auto body = json_object::parse(call->in.body);
  auto items = body ? body->elements("tasks") : std::vector<std::string_view>();
  // All at once: a rate lets more than it allows pass when nothing was taken before.
  auto cost = std::clamp<std::size_t>(items.size(), 1, limits::http_batch_tasks_max);
  if (auto refused = take_rate(context, *call->by, "create", cost))
    return call->answer(std::move(*refused));
  if (!body || !body->ok() || items.empty())
    return call->answer(refusal(400, "invalid body"));
  if (items.size() > limits::http_batch_tasks_max)
    return call->answer(refusal(
      400, "batch size exceeds maximum of " + std::to_string(limits::http_batch_tasks_max)));
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
    auto object = json_object::parse(items[i]);
    auto set = [gathered, i](result<task_detail> task) { gathered->set(i, std::move(task)); };
    if (object)
      enqueue_one(context, call, {*object, open}, std::move(set));
    else
      set(error{errc::invalid_argument, "invalid body"});
  }
}

constexpr std::array<route, 2> routes{{
  {"POST", "tasks", access::producer, {}, "create", &enqueue},
  {"POST", "tasks/batch", access::producer, {}, {}, &enqueue_batch},
}};

} // namespace

std::span<const route> enqueue_routes() {
  return routes;
}

} // namespace codeq::http
