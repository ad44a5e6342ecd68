// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "http/dashboard/live_json.hpp"
#include "http/json/json_reader.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>

/// Force, and what runs where; for admins.
namespace codeq::http {

namespace {

/// Ended tasks leave by their retention alone, and from then on nobody sees them; so nothing is
/// left to delete here, and clients that ask for it from time to time learn just that.
void clean_up(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  base::json_writer json;
  json.begin_object()
    .field("deleted", 0)
    .field(
      "before",
      body.has("before") ? unquote_json(body.raw("before")) : base::to_rfc3339(context.desk.now()))
    .field("limit", body.integer("limit").value_or(0))
    .end_object();
  call->answer(reply(200, json));
}

/// In the order of `force_kind`.
constexpr auto force_names = std::to_array<std::string_view>({"revoke", "complete", "fail"});

struct force_wish {
  force_kind how = force_kind::revoke;
  std::string text;
};

force_wish read_force(const input& body) {
  force_wish wish{static_cast<force_kind>(*body.choice("how")), {}};
  if (wish.how == force_kind::complete && body.raw("result") != "null")
    wish.text = stored_result(body.raw("result"));
  if (wish.how == force_kind::fail)
    wish.text = body.text("error");
  return wish;
}

void force(gateway_context& context, const exchange_ptr& call) {
  auto end =
    [&context, call, wish = read_force(call->fields->body)](const result<task_detail>& task) {
      if (!task)
        return call->answer(refusal_of(task.error()));
      auto id = task->status.id;
      context.desk.ask<change_outcome>(
        value(id.shard),
        client::ask_force(id, wish.how, wish.text),
        &client::read_change,
        shard_desk::then<change_outcome>(
          [call](result<change_outcome> outcome) { answer_change(call, outcome); }),
        origin_of(context, *call));
    };
  find_own(context, call, call->arguments[0], false, std::move(end));
}

void show_workers(gateway_context& context, const exchange_ptr& call) {
  context.desk.workers([call](const shard_desk::workers_result& all) {
    if (!all)
      return call->answer(refusal_of(all.error()));
    say_missing(*call, {all->missing.coordinators, all->missing.shards.size()});
    base::json_writer json;
    json.begin_object();
    write_workers(json, all->workers, *call->by);
    json.end_object();
    call->answer(reply(200, json));
  });
}

/// Drains the worker in the path, or takes it back.
void drain(gateway_context& context, const exchange_ptr& call, bool is_drained) {
  const auto& name = call->arguments[0];
  const auto unknown = "worker not found: no coordinator knows \"" + name
                       + "\"; workers of the HTTP gateway cannot be drained";
  // With tokens a worker's name begins with its tenant.
  const auto is_own =
    call->by->sees_all_tenants || name.starts_with(call->by->tenant + "/");
  if (name.empty() || !is_own)
    return call->answer(refusal(404, unknown));
  auto finish = [call, name, is_drained, unknown](const result<void>& told) {
    if (!told && told.error().code == errc::invalid_argument)
      return call->answer(refusal(404, unknown));
    if (!told)
      return call->answer(refusal_of(told.error()));
    base::json_writer json;
    json.begin_object().field("workerId", name).field("draining", is_drained).end_object();
    call->answer(reply(200, json));
  };
  context.desk.drain_worker(name, is_drained, origin_of(context, *call), finish);
}

void drain_worker(gateway_context& context, const exchange_ptr& call) {
  drain(context, call, true);
}

void resume_worker(gateway_context& context, const exchange_ptr& call) {
  drain(context, call, false);
}

/// A shard's counts; an admin of one tenant learns of its own queues only.
void write_shard(base::json_writer& json, const base::coordinator_counts& stats, const caller& by) {
  auto is_own = [&](const base::queue_counts& q) { return q.queue.tenant == by.tenant; };
  auto own = std::count_if(stats.queues.begin(), stats.queues.end(), is_own);
  json.field("queues", by.sees_all_tenants ? std::ssize(stats.queues) : own);
  if (!by.sees_all_tenants)
    return;
  for (const auto& [name, value] : stats.gauges)
    json.field(name, value);
}

void show_shards(gateway_context& context, const exchange_ptr& call) {
  context.desk.stats_by_shard([call](const result<std::vector<base::coordinator_counts>>& all) {
    if (!all)
      return call->answer(refusal_of(all.error()));
    base::json_writer json;
    json.begin_object().key("shards").begin_array();
    for (std::size_t i = 0; i < all->size(); ++i) {
      json.begin_object().field("shard", i);
      write_shard(json, (*all)[i], *call->by);
      json.end_object();
    }
    json.end_array().end_object();
    call->answer(reply(200, json));
  });
}

constexpr auto cleanup_fields = std::to_array<input_field>({
  {.name = "limit", .type = input_type::integer},
  {.name = "before", .type = input_type::time, .refusal = "invalid 'before' (use RFC3339)"},
});

constexpr auto force_fields = std::to_array<input_field>({
  {.name = "how", .type = input_type::choice, .is_required = true, .choices = force_names},
  {.name = "result", .type = input_type::json, .range = at_most(limits::result_bytes_max)},
  {.name = "error", .range = at_most(limits::error_text_bytes_max)},
});

constexpr std::array<route, 6> admin_table{{
  {.method = "POST",
   .pattern = "admin/tasks/cleanup",
   .who = access::admin,
   .rate = "admin",
   .run = &clean_up,
   .fields = {.body = {cleanup_fields}}},
  {.method = "POST",
   .pattern = "admin/tasks/:/force",
   .who = access::admin,
   .rate = "admin",
   .run = &force,
   .fields = {.body = {force_fields}, .need = body_need::required}},
  {.method = "GET",
   .pattern = "admin/workers",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_workers},
  {.method = "POST",
   .pattern = "admin/workers/:/drain",
   .who = access::admin,
   .rate = "admin",
   .run = &drain_worker},
  {.method = "POST",
   .pattern = "admin/workers/:/resume",
   .who = access::admin,
   .rate = "admin",
   .run = &resume_worker},
  {.method = "GET",
   .pattern = "admin/shards",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_shards},
}};

} // namespace

std::span<const route> admin_routes() {
  return admin_table;
}

} // namespace codeq::http
