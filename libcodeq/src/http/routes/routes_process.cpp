// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "http/routes/openapi.hpp"
#include "http/routes/route_steps.hpp"
#include "observe/log.hpp"

#include <array>

/// How the process itself is, at the root.
namespace codeq::http {

namespace {

constexpr auto log_levels =
  std::to_array<std::string_view>({"trace", "debug", "info", "warn", "error", "off"});

void say_alive(gateway_context&, const exchange_ptr& call) {
  base::json_writer json;
  json.begin_object().field("status", "ok").end_object();
  call->answer(reply(200, json));
}

/// Ready once every shard has answered, which it does behind all that it has to write before.
void say_ready(gateway_context& context, const exchange_ptr& call) {
  if (auto ok = context.check_disk(); !ok)
    return call->answer(refusal(503, ok.error().context));
  auto is_answered = std::make_shared<bool>(false);
  auto answer_once = [call, is_answered](response r) {
    if (!std::exchange(*is_answered, true))
      call->answer(std::move(r));
  };
  context.desk.after(tuning::http_ready_timeout, [answer_once] {
    answer_once(refusal(503, "not every shard answers in time"));
  });
  auto question_of = [](std::uint16_t shard) {
    return client::show_queue(shard, {"default", "default"});
  };
  auto finish = [answer_once](const result<std::vector<client::queue_part>>& parts) {
    if (!parts)
      return answer_once(refusal_of(parts.error()));
    base::json_writer json;
    json.begin_object().field("status", "ready").field("shards", parts->size()).end_object();
    answer_once(reply(200, json));
  };
  ask_each_shard<client::queue_part>(
    context,
    question_of,
    &client::read_queue,
    shard_desk::then<std::vector<client::queue_part>>(std::move(finish)));
}

void show_metrics(gateway_context& context, const exchange_ptr& call) {
  with_stats(context, call, [&context, call](const base::coordinator_counts& stats) {
    response answer;
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    answer.body = context.metrics(stats);
    call->answer(std::move(answer));
  });
}

void answer_log_level(const exchange_ptr& call, std::string_view level) {
  base::json_writer json;
  json.begin_object().field("level", level).end_object();
  call->answer(reply(200, json));
}

void show_log_level(gateway_context&, const exchange_ptr& call) {
  answer_log_level(call, to_string(observe::current_log_level()));
}

/// Lasts until the process ends.
void change_log_level(gateway_context& context, const exchange_ptr& call) {
  auto from = std::string(to_string(observe::current_log_level()));
  auto to = observe::change_log_level(
    log_levels[*call->fields->body.choice("level")], call->by->subject);
  if (!to)
    return call->answer(refusal_of(to.error()));
  if (from != *to)
    context.desk.note(
      {origin_of(context, *call), operator_action::log_level, from + " -> " + *to});
  answer_log_level(call, *to);
}

void show_document(gateway_context&, const exchange_ptr& call) {
  response answer;
  answer.body = openapi_document();
  call->answer(std::move(answer));
}

constexpr auto log_level_fields = std::to_array<input_field>({
  {.name = "level", .type = input_type::choice, .is_required = true, .choices = log_levels},
});

constexpr std::array<route, 6> routes{{
  {.method = "GET", .pattern = "/healthz", .who = access::open, .run = &say_alive},
  {.method = "GET", .pattern = "/readyz", .who = access::open, .run = &say_ready},
  {.method = "GET", .pattern = "/openapi.json", .who = access::open, .run = &show_document},
  {.method = "GET", .pattern = "/metrics", .who = access::metrics, .run = &show_metrics},
  {.method = "GET",
   .pattern = "admin/log-level",
   .who = access::inspect_process,
   .rate = "admin",
   .run = &show_log_level},
  {.method = "PUT",
   .pattern = "admin/log-level",
   .who = access::process,
   .rate = "admin",
   .run = &change_log_level,
   .fields = {.body = {log_level_fields}, .need = body_need::required}},
}};

} // namespace

std::span<const route> process_routes() {
  return routes;
}

} // namespace codeq::http
