// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/routes/route_steps.hpp"
#include "http/routes/task_result.hpp"

#include <array>
#include <charconv>

/// What a worker says of a task that it claimed.
namespace codeq::http {

namespace {

/// Answers a refusal in the words of these routes.
void refuse(const exchange_ptr& call, const error& reason) {
  if (reason.code == errc::unknown_task)
    return call->answer(refusal(404, "not-found"));
  if (reason.code == errc::stale_lease)
    return call->answer(refusal(409, "not-in-progress"));
  call->answer(refusal_of(reason));
}

/// Calls `go(task, token)` when the caller holds the lease that the body means.
void with_lease(
  gateway_context& context,
  const exchange_ptr& call,
  json_object& body,
  std::function<void(const task_detail&, fencing_token)> go) {
  auto wish = lease_meant(body, context.needs_token);
  if (!wish)
    return refuse(call, wish.error());
  auto check = [call, wish = *wish, go = std::move(go)](const result<task_detail>& task) {
    if (!task)
      return refuse(call, task.error());
    auto token = token_of(*task, wish, *call->by);
    if (!token)
      return refuse(call, token.error());
    go(*task, *token);
  };
  find_own(context, call, call->arguments[0], false, std::move(check));
}

void beat(gateway_context& context, const exchange_ptr& call) {
  auto body = body_of(call);
  if (!body)
    return;
  duration extend{0};
  if (auto seconds = body->integer("extendSeconds").value_or(0); seconds > 0)
    extend = seconds_within(seconds, limits::lease_min, limits::lease_max);
  if (!body->ok())
    return call->answer(refusal(400, "invalid body"));
  with_lease(context, call, *body, [&context, call, extend](const auto& task, auto token) {
    auto finish = [call](const result<void>& extended) {
      if (!extended)
        return refuse(call, extended.error());
      base::json_writer json;
      json.begin_object().field("ok", true).end_object();
      call->answer(reply(200, json));
    };
    context.desk.beat(task.status.id, token, extend, std::move(finish));
  });
}

void abandon(gateway_context& context, const exchange_ptr& call) {
  auto body = optional_body_of(call);
  if (!body)
    return;
  with_lease(context, call, *body, [&context, call](const auto& task, auto token) {
    attempt_end end{task.status.id, token, disposition::abandon};
    context.desk.report(end, [call](const error& how) {
      if (how.code != errc::none && how.code != errc::already)
        return refuse(call, how);
      base::json_writer json;
      json.begin_object().field("status", "requeued").end_object();
      call->answer(reply(200, json));
    });
  });
}

/// Tells where a task went that was given back with a delay.
void show_delay(gateway_context& context, const exchange_ptr& call, task_id id) {
  context.desk.describe({id, {}}, false, [&context, call](const result<task_detail>& task) {
    base::json_writer json;
    if (!task) {
      // It is stored; where the task went could not be found out.
      constexpr unsigned accepted = 202;
      json.begin_object().field("status", "accepted").end_object();
      return call->answer(reply(accepted, json));
    }
    bool is_dead = task->status.state == task_state::dead;
    std::int64_t seconds = 0;
    if (task->status.eligible_at) {
      auto left = std::max(duration{0}, *task->status.eligible_at - context.desk.now());
      seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    }
    json.begin_object()
      .field("delaySeconds", seconds)
      .field("status", is_dead ? "dlq" : "requeued")
      .end_object();
    call->answer(reply(200, json));
  });
}

void nack(gateway_context& context, const exchange_ptr& call) {
  auto body = body_of(call);
  if (!body)
    return;
  attempt_end end;
  end.how = disposition::nack;
  end.text = body->text("reason");
  if (auto seconds = body->integer("delaySeconds"))
    end.delay = seconds_within(*seconds, duration{0}, limits::retry_max);
  if (!body->ok())
    return call->answer(refusal(400, "invalid body"));
  with_lease(context, call, *body, [&context, call, end](const auto& task, auto token) mutable {
    end.task = task.status.id;
    end.token = token;
    context.desk.report(end, [&context, call, id = end.task](const error& how) {
      if (how.code != errc::none && how.code != errc::already)
        return refuse(call, how);
      show_delay(context, call, id);
    });
  });
}

void submit(gateway_context& context, const exchange_ptr& call) {
  auto body = json_object::parse(call->in.body);
  if (!body)
    return call->answer(refusal(400, "invalid request body"));
  submit_result(context, call, call->arguments[0], *body, [call](result<result_record> record) {
    if (!record && record.error().code == errc::unknown_task)
      return call->answer(refusal(404, "task not found"));
    if (!record)
      return refuse(call, record.error());
    base::json_writer json;
    write_result(json, *record);
    call->answer(reply(200, json));
  });
}

struct batch_item {
  std::string id;
  std::optional<result<result_record>> record;
};

void write_items(const exchange_ptr& call, const std::vector<batch_item>& items) {
  base::json_writer json;
  json.begin_object().key("results").begin_array();
  for (const auto& item : items) {
    json.begin_object().field("taskId", item.id);
    const auto& record = *item.record;
    if (record)
      write_result(json.key("result"), *record);
    else if (record.error().code == errc::unknown_task)
      json.field("error", "task not found");
    else if (record.error().code == errc::stale_lease)
      json.field("error", "not-in-progress");
    else
      json.field("error", record.error().context);
    json.end_object();
  }
  json.end_array().end_object();
  call->answer(reply(200, json));
}

void submit_batch(gateway_context& context, const exchange_ptr& call) {
  auto body = body_of(call);
  if (!body)
    return;
  auto items = body->elements("results");
  if (!body->ok() || items.empty())
    return call->answer(refusal(400, "invalid body"));
  if (items.size() > limits::http_batch_tasks_max)
    return call->answer(refusal(
      400, "batch size exceeds maximum of " + std::to_string(limits::http_batch_tasks_max)));
  auto finish = [call](const std::vector<batch_item>& all) { write_items(call, all); };
  auto gathered = std::make_shared<gathering<batch_item>>(items.size(), std::move(finish));
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto object = json_object::parse(items[i]);
    auto id = object ? object->text("taskId") : std::string();
    auto set = [gathered, i, id](result<result_record> record) {
      gathered->set(i, {id, std::move(record)});
    };
    if (object)
      submit_result(context, call, id, *object, std::move(set));
    else
      set(error{errc::invalid_argument, "invalid request body"});
  }
}

constexpr std::array<route, 5> routes{{
  {"POST", "tasks/:/heartbeat", access::worker, "codeq:heartbeat", {}, &beat},
  {"POST", "tasks/:/abandon", access::worker, "codeq:abandon", {}, &abandon},
  {"POST", "tasks/:/nack", access::worker, "codeq:nack", {}, &nack},
  {"POST", "tasks/:/result", access::worker, "codeq:result", {}, &submit},
  {"POST", "tasks/batch/results", access::worker, "codeq:result", {}, &submit_batch},
}};

} // namespace

std::span<const route> lease_routes() {
  return routes;
}

} // namespace codeq::http
