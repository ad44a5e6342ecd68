// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/route_steps.hpp"
#include "http/task_input.hpp"

#include <array>

/// POST /tasks and POST /tasks/batch.
namespace codeq::http {

namespace {

using enqueued = std::function<void(result<task_detail>)>;

/// Shows a task that was just added: its payload is the one at hand.
void show_added(
  gateway_context& context, const enqueued_task& added, std::string payload, enqueued done) {
  bool is_new = added.kind == enqueue_kind::created;
  auto show = [kind = added.kind, is_new, payload = std::move(payload), done = std::move(done)](
                result<task_detail> found) {
    if (!found)
      return done(found.error());
    found->outcome = kind;
    if (is_new)
      found->payload = payload;
    done(std::move(found));
  };
  context.desk.describe({added.id, {}}, !is_new, std::move(show));
}

void enqueue_one(
  gateway_context& context, const exchange_ptr& call, json_object& item, enqueued done) {
  auto task = read_task(item, call->by->tenant);
  if (!task)
    return done(task.error());
  if (!call->by->may_use(task->queue))
    return done(error{errc::unauthorized, "command not allowed"});
  auto payload = task->payload;
  auto shown =
    [&context, payload = std::move(payload), done = std::move(done)](result<enqueued_task> added) {
      if (!added)
        return done(added.error());
      show_added(context, *added, payload, done);
    };
  context.desk.enqueue(*task, std::move(shown));
}

void enqueue(gateway_context& context, const exchange_ptr& call) {
  auto body = body_of(call);
  if (!body)
    return;
  constexpr unsigned accepted = 202;
  auto finish = [&context, call](const result<task_detail>& task) {
    if (!task)
      return call->answer(refusal_of(task.error()));
    json_writer json;
    write_task(json, *task, context.desk.now());
    call->answer(reply(accepted, json));
  };
  enqueue_one(context, call, *body, std::move(finish));
}

void write_items(
  gateway_context& context, const exchange_ptr& call, const std::vector<result<task_detail>>& all) {
  json_writer json;
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
  auto body = body_of(call);
  if (!body)
    return;
  auto items = body->elements("tasks");
  if (!body->ok() || items.empty())
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
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto object = json_object::parse(items[i]);
    auto set = [gathered, i](result<task_detail> task) { gathered->set(i, std::move(task)); };
    if (object)
      enqueue_one(context, call, *object, std::move(set));
    else
      set(error{errc::invalid_argument, "invalid body"});
  }
}

constexpr std::array<route, 2> routes{{
  {"POST", "tasks", access::producer, {}, "create", &enqueue},
  {"POST", "tasks/batch", access::producer, {}, "create", &enqueue_batch},
}};

} // namespace

std::span<const route> enqueue_routes() {
  return routes;
}

} // namespace codeq::http
