// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "client/schedule_questions.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/schedule_json.hpp"
#include "http/routes/route_steps.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

/// Schedules: admins change them, readers see them.
namespace codeq::http {

namespace {

using parts_read = std::function<void(const result<client::schedules_part>&)>;

/// The schedule that the path names, with its shard; answers when no schedule can have that name.
std::optional<client::schedule_place>
schedule_meant(gateway_context& context, const exchange_ptr& call) {
  schedule_address name{call->by->tenant, call->arguments[0]};
  if (is_valid_name(name.name))
    return client::place_of(name, context.desk.shard_count());
  call->answer(refusal_of(
    {errc::invalid_argument,
     describe_value(
       "'name'",
       quote(name.name),
       "1 to 128 characters of A-Z, a-z, 0-9, '.', '_' and '-'")}));
  return std::nullopt;
}

/// What the shard said, and how to make the schedule.
error missing_schedule(const exchange& call, const error& reason) {
  return {
    reason.code,
    "schedule not found: " + reason.context + "; PUT /v1/codeq/schedules/" + call.arguments[0]
      + " makes it"};
}

/// Asks for one schedule; answers with the error if there is one.
void ask_for(
  gateway_context& context,
  const exchange_ptr& call,
  const client::schedule_place& at,
  const client::question& question,
  std::function<void(const client::schedules_part&)> go_on,
  const core::origin_ptr& origin = {}) {
  auto take = [call, go_on = std::move(go_on)](const result<client::schedules_part>& part) {
    if (!part && part.error().code == errc::unknown_schedule)
      return call->answer(refusal_of(missing_schedule(*call, part.error())));
    if (!part)
      return call->answer(refusal_of(part.error()));
    if (part->schedules.empty())
      return call->answer(refusal_of({errc::protocol_error, "no schedule in the answer"}));
    go_on(*part);
  };
  context.desk.ask<client::schedules_part>(
    at.shard,
    question,
    &client::read_schedules,
    shard_desk::then<client::schedules_part>(std::move(take)),
    origin);
}

void answer_schedule(
  gateway_context& context, const exchange_ptr& call, const client::schedules_part& part) {
  base::json_writer json;
  json.begin_object().field("result", to_string(part.what));
  schedule_answer answer{part.what, part.schedules.front()};
  write_schedule(json.key("schedule"), answer, context.desk.now());
  json.end_object();
  call->answer(reply(part.what == schedule_result::created ? 201 : 200, json));
}

void change(gateway_context& context, const exchange_ptr& call, schedule_action what) {
  auto at = schedule_meant(context, call);
  if (!at)
    return;
  ask_for(
    context,
    call,
    *at,
    client::ask_change_schedule(*at, what),
    [&context, call](const client::schedules_part& part) {
      answer_schedule(context, call, part);
    },
    origin_of(context, *call));
}

void show_schedule(gateway_context& context, const exchange_ptr& call) {
  auto at = schedule_meant(context, call);
  if (!at)
    return;
  auto answer = [&context, call](const client::schedules_part& part) {
    base::json_writer json;
    write_schedule(json, part.schedules.front(), context.desk.now());
    call->answer(reply(200, json));
  };
  ask_for(context, call, *at, client::ask_schedule(*at, 1), answer);
}

void set_schedule(gateway_context& context, const exchange_ptr& call) {
  auto at = schedule_meant(context, call);
  if (!at)
    return;
  auto spec = make_schedule(call->fields->body, at->name.tenant);
  if (!spec)
    return call->answer(refusal_of(spec.error()));
  bool is_dry = call->fields->query.flag("dryRun").value_or(false);
  auto question = is_dry ? client::ask_preview_schedule(*at, *spec, limits::schedule_next_default)
                         : client::ask_set_schedule(*at, *spec);
  if (!question)
    return call->answer(refusal_of(question.error()));
  ask_for(
    context,
    call,
    *at,
    *question,
    [&context, call](const client::schedules_part& part) {
      answer_schedule(context, call, part);
    },
    origin_of(context, *call));
}

void remove_schedule(gateway_context& context, const exchange_ptr& call) {
  change(context, call, schedule_action::remove);
}

void pause_schedule(gateway_context& context, const exchange_ptr& call) {
  change(context, call, schedule_action::pause);
}

void resume_schedule(gateway_context& context, const exchange_ptr& call) {
  change(context, call, schedule_action::resume);
}

void run(gateway_context& context, const exchange_ptr& call) {
  change(context, call, schedule_action::run);
}

void backfill(gateway_context& context, const exchange_ptr& call) {
  auto at = schedule_meant(context, call);
  if (!at)
    return;
  const auto& body = call->fields->body;
  auto question =
    client::ask_backfill_schedule(*at, *body.time("from"), *body.time("until"));
  ask_for(
    context,
    call,
    *at,
    question,
    [&context, call](const client::schedules_part& part) {
      answer_schedule(context, call, part);
    },
    origin_of(context, *call));
}

void show_next(gateway_context& context, const exchange_ptr& call) {
  auto at = schedule_meant(context, call);
  if (!at)
    return;
  auto count = static_cast<std::uint32_t>(
    call->fields->query.integer("count").value_or(limits::schedule_next_default));
  auto answer = [call](const client::schedules_part& part) {
    base::json_writer json;
    json.begin_object().field("name", part.schedules.front().name.name);
    write_times(json, part.schedules.front().next);
    json.end_object();
    call->answer(reply(200, json));
  };
  ask_for(context, call, *at, client::ask_schedule(*at, count), answer);
}

void show_schedule_history(gateway_context& context, const exchange_ptr& call) {
  auto at = schedule_meant(context, call);
  if (!at)
    return;
  auto answer = [call](const client::schedules_part& part) {
    base::json_writer json;
    json.begin_object()
      .field("name", part.schedules.front().name.name)
      .begin_array("occurrences");
    for (const auto& entry : part.history)
      write_occurrence(json, entry);
    json.end_array().end_object();
    call->answer(reply(200, json));
  };
  ask_for(context, call, *at, client::ask_schedule_history(*at), answer);
}

/// The schedules of all shards behind a name, in the order of their names, at most `limit`.
void answer_list(
  gateway_context& context,
  const exchange_ptr& call,
  std::vector<client::schedules_part> parts,
  std::size_t limit) {
  std::vector<schedule_info> all;
  // Schedules that a shard left out come after its last one.
  std::optional<schedule_address> complete_to;
  for (auto& part : parts) {
    if (part.more && (!complete_to || part.schedules.back().name < *complete_to))
      complete_to = part.schedules.back().name;
    std::move(part.schedules.begin(), part.schedules.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (complete_to)
    std::erase_if(all, [&](const schedule_info& one) { return *complete_to < one.name; });
  bool more = complete_to || all.size() > limit;
  all.resize(std::min(all.size(), limit));
  base::json_writer json;
  json.begin_object().begin_array("schedules");
  for (const auto& schedule : all)
    write_schedule(json, schedule, context.desk.now());
  json.end_array();
  if (more && !all.empty())
    json.field("after", all.back().name.name);
  json.end_object();
  call->answer(reply(200, json));
}

void list_schedules(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  auto limit = static_cast<std::uint32_t>(query.integer("limit").value_or(100));
  schedule_address behind{call->by->tenant, query.text("after")};
  ask_each_shard<client::schedules_part>(
    context,
    [behind, limit](std::uint16_t shard) {
      return client::ask_schedules({shard, behind}, limit);
    },
    &client::read_schedules,
    [&context, call, limit](result<std::vector<client::schedules_part>> parts) {
      if (!parts)
        return call->answer(refusal_of(parts.error()));
      answer_list(context, call, std::move(*parts), limit);
    });
}

constexpr auto list_schedules_parameters = std::to_array<input_field>({
  {.name = "after", .range = at_most(limits::name_bytes_max)},
  {.name = "limit", .type = input_type::integer, .range = {1, limits::schedules_listed_max}},
});

constexpr auto next_parameters = std::to_array<input_field>({
  {.name = "count", .type = input_type::integer, .range = {1, limits::schedule_next_max}},
});

constexpr auto set_schedule_parameters =
  std::to_array<input_field>({{.name = "dryRun", .type = input_type::flag}});

constexpr auto range_fields = std::to_array<input_field>({
  {.name = "from", .type = input_type::time, .is_required = true},
  {.name = "until", .type = input_type::time, .is_required = true},
});

constexpr std::array<route, 10> schedule_table{{
  {.method = "GET",
   .pattern = "schedules",
   .who = access::inspect,
   .rate = "admin",
   .run = &list_schedules,
   .fields = {.query = list_schedules_parameters}},
  {.method = "GET",
   .pattern = "schedules/:",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_schedule},
  {.method = "PUT",
   .pattern = "schedules/:",
   .who = access::admin,
   .rate = "admin",
   .run = &set_schedule,
   .fields =
     {.query = set_schedule_parameters, .body = {schedule_fields}, .need = body_need::required}},
  {.method = "DELETE",
   .pattern = "schedules/:",
   .who = access::admin,
   .rate = "admin",
   .run = &remove_schedule},
  {.method = "GET",
   .pattern = "schedules/:/next",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_next,
   .fields = {.query = next_parameters}},
  {.method = "GET",
   .pattern = "schedules/:/history",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_schedule_history},
  {.method = "POST",
   .pattern = "schedules/:/run",
   .who = access::admin,
   .rate = "admin",
   .run = &run},
  {.method = "POST",
   .pattern = "schedules/:/pause",
   .who = access::admin,
   .rate = "admin",
   .run = &pause_schedule},
  {.method = "POST",
   .pattern = "schedules/:/resume",
   .who = access::admin,
   .rate = "admin",
   .run = &resume_schedule},
  {.method = "POST",
   .pattern = "schedules/:/backfill",
   .who = access::admin,
   .rate = "admin",
   .run = &backfill,
   .fields = {.body = {range_fields}, .need = body_need::required}},
}};

} // namespace

std::span<const route> schedule_routes() {
  return schedule_table;
}

} // namespace codeq::http
