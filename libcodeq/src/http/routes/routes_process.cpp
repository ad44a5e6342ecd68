// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "http/routes/openapi.hpp"
#include "http/routes/route_steps.hpp"
#include "observe/log.hpp"

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

/// The shards that have not answered yet whether they are ready, and those of a cluster that take
/// no new tasks.
class readiness {
public:
  readiness(exchange_ptr call, shard_desk& desk) : call_(std::move(call)), desk_(desk) {
    for (std::uint16_t i = 0; i < desk.shard_count(); ++i)
      silent_.insert(i);
  }

  /// The shards of the cluster as this coordinator knows them.
  void note(const std::vector<base::cluster_shard_counts>& shards) {
    for (const auto& shard : shards)
      if (shard.copies_in_sync < shard.copies_needed)
        refusing_[shard.shard] = "takes no new tasks: " + std::to_string(shard.copies_in_sync)
                                 + " copies are in sync, " + std::to_string(shard.copies_needed)
                                 + " are needed";
  }

  void note(std::uint16_t shard, const result<client::queue_part>& told) {
    if (!told)
      return answer(refusal_of(told.error()));
    silent_.erase(shard);
    if (silent_.empty())
      end();
  }

  /// Answers without the shards that are still silent.
  void end() {
    if (!silent_.empty() || !refusing_.empty())
      return answer(not_ready());
    base::json_writer json;
    json.begin_object()
      .field("status", "ready")
      .field("shards", desk_.shard_count())
      .end_object();
    answer(reply(200, json));
  }

private:
  [[nodiscard]] response not_ready() const {
    if (!desk_.is_in_cluster())
      return refusal(503, silent_words());
    auto words = silent_.empty() ? std::string() : silent_words();
    for (const auto& [shard, why] : refusing_)
      words += (words.empty() ? "shard " : "; shard ") + std::to_string(shard) + " " + why;
    base::json_writer json;
    json.begin_object().field("error", words).key("unavailable").begin_array();
    for (std::uint16_t i = 0; i < desk_.shard_count(); ++i)
      write_shard(json, i);
    json.end_array().end_object();
    return reply(503, json);
  }

  [[nodiscard]] std::string silent_words() const {
    std::string names;
    for (auto shard : silent_) {
      const auto why = desk_.why_unreached(shard);
      names += (names.empty() ? "" : ", ") + std::to_string(shard)
               + (why.empty() ? "" : " (" + why + ")");
    }
    return "not every shard answers in time: " + names;
  }

  /// Adds the shard if it cannot serve.
  void write_shard(base::json_writer& json, std::uint16_t shard) const {
    const auto refusing = refusing_.find(shard);
    const auto is_silent = silent_.contains(shard);
    if (!is_silent && refusing == refusing_.end())
      return;
    auto why = is_silent ? desk_.why_unreached(shard) : refusing->second;
    json.begin_object()
      .field("shard", shard)
      .field("node", desk_.node_of(shard))
      .field("reason", why.empty() ? "does not answer in time" : why)
      .end_object();
  }

  void answer(response r) {
    if (auto call = std::exchange(call_, nullptr))
      call->answer(std::move(r));
  }

  exchange_ptr call_;
  /// Outlives the calls.
  shard_desk& desk_;
  std::set<std::uint16_t> silent_;
  /// Why each of them takes no new tasks.
  std::map<std::uint16_t, std::string> refusing_;
};

void ask_all(shard_desk& desk, const std::shared_ptr<readiness>& open) {
  for (std::uint16_t i = 0; i < desk.shard_count(); ++i)
    desk.ask<client::queue_part>(
      i, client::show_queue(i, {"default", "default"}), &client::read_queue,
      shard_desk::then<client::queue_part>(
        [open, i](const result<client::queue_part>& told) { open->note(i, told); }));
}

/// Ready once every shard has answered, which it does behind all that it has to write before; in a
/// cluster also those of other coordinators, and only when each takes new tasks.
void say_ready(gateway_context& context, const exchange_ptr& call) {
  if (auto ok = context.check_disk(); !ok)
    return call->answer(refusal(503, ok.error().context));
  auto& desk = context.desk;
  auto open = std::make_shared<readiness>(call, desk);
  desk.after(tuning::http_ready_timeout, [open] { open->end(); });
  if (!context.cluster_shards)
    return ask_all(desk, open);
  context.cluster_shards([open, &desk](const std::vector<base::cluster_shard_counts>& shards) {
    open->note(shards);
    ask_all(desk, open);
  });
}

void answer_metrics(
  gateway_context& context, const exchange_ptr& call, const base::coordinator_counts& counts) {
  response answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = context.metrics(counts);
  call->answer(std::move(answer));
}

/// Answers the metrics of this coordinator alone. A monitor adds up those of a cluster.
void show_metrics(gateway_context& context, const exchange_ptr& call) {
  context.desk.own_stats([&context, call](const result<base::coordinator_counts>& stats) {
    if (!stats)
      return call->answer(refusal_of(stats.error()));
    if (!context.cluster_shards)
      return answer_metrics(context, call, *stats);
    context.cluster_shards(
      [&context, call, all = *stats](std::vector<base::cluster_shard_counts> shards) mutable {
        all.cluster_shards = std::move(shards);
        answer_metrics(context, call, all);
      });
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

constexpr std::array<route, 6> process_table{{
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
  return process_table;
}

} // namespace codeq::http
