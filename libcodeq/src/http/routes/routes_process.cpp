// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "http/routes/openapi.hpp"
#include "http/routes/route_steps.hpp"
#include "observe/log.hpp"

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

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

/// The shards that have not answered yet whether they are ready.
class readiness {
public:
  readiness(exchange_ptr call, std::uint16_t shards) : call_(std::move(call)), shards_(shards) {
    for (std::uint16_t i = 0; i < shards; ++i)
      silent_.insert(i);
  }

  void note(std::uint16_t shard, const result<client::queue_part>& told) {
    if (!told)
      return answer(refusal_of(told.error()));
    silent_.erase(shard);
    if (!silent_.empty())
      return;
    base::json_writer json;
    json.begin_object().field("status", "ready").field("shards", shards_).end_object();
    answer(reply(200, json));
  }

  /// `why_of`: the reason why a shard may be silent; empty when none is known.
  void give_up(const std::function<std::string(std::uint16_t)>& why_of) {
    std::string names;
    for (auto shard : silent_) {
      const auto why = why_of(shard);
      names += (names.empty() ? "" : ", ") + std::to_string(shard)
               + (why.empty() ? "" : " (" + why + ")");
    }
    answer(refusal(503, "not every shard answers in time: " + names));
  }

private:
  void answer(response r) {
    if (auto call = std::exchange(call_, nullptr))
      call->answer(std::move(r));
  }

  exchange_ptr call_;
  std::uint16_t shards_;
  std::set<std::uint16_t> silent_;
};

/// Ready once every shard has answered, which it does behind all that it has to write before; in a
/// cluster also those of other coordinators.
void say_ready(gateway_context& context, const exchange_ptr& call) {
  if (auto ok = context.check_disk(); !ok)
    return call->answer(refusal(503, ok.error().context));
  auto open = std::make_shared<readiness>(call, context.desk.shard_count());
  context.desk.after(tuning::http_ready_timeout, [open, &desk = context.desk] {
    open->give_up([&desk](std::uint16_t shard) { return desk.why_unreached(shard); });
  });
  for (std::uint16_t i = 0; i < context.desk.shard_count(); ++i)
    context.desk.ask<client::queue_part>(
      i, client::show_queue(i, {"default", "default"}), &client::read_queue,
      shard_desk::then<client::queue_part>(
        [open, i](const result<client::queue_part>& told) { open->note(i, told); }));
}

/// Answers the metrics of this coordinator alone. A monitor adds up those of a cluster.
void show_metrics(gateway_context& context, const exchange_ptr& call) {
  context.desk.own_stats([&context, call](const result<base::coordinator_counts>& stats) {
    if (!stats)
      return call->answer(refusal_of(stats.error()));
    response answer;
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    answer.body = context.metrics(*stats);
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
