// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/rfc3339.hpp"
#include "http/routes/bulk_walk.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>

/// Dead tasks, force, and what runs where; for admins.
namespace codeq::http {

namespace {

/// What a redrive or purge of dead tasks is about: a list of ids, or else a filter.
void change_dead(
  gateway_context& context, const exchange_ptr& call, core::bulk_kind all, task_change each) {
  auto body = optional_body_of(call);
  if (!body)
    return;
  auto ids = body->texts("ids");
  bulk_wish wish{{call->by->tenant, body->text("queue")}, 0, 0};
  auto limit = body->integer("limit").value_or(0);
  auto rate = body->integer("rate").value_or(0);
  if (!body->ok() || limit < 0 || rate < 0)
    return call->answer(refusal(400, "invalid body"));
  if (ids.size() > limits::http_bulk_ids_max)
    return call->answer(
      refusal(400, "ids exceed maximum of " + std::to_string(limits::http_bulk_ids_max)));
  if (body->has("ids"))
    return change_each(context, call, ids, each);
  if (!wish.of.queue.empty() && !is_valid_name(wish.of.queue))
    return call->answer(refusal(400, "invalid queue"));
  wish.limit = static_cast<std::uint64_t>(limit);
  wish.rate = std::min<std::uint64_t>(static_cast<std::uint64_t>(rate), limits::bulk_rate_max);
  change_all(context, call, all, wish);
}

void redrive(gateway_context& context, const exchange_ptr& call) {
  change_dead(context, call, core::bulk_kind::redrive, task_change::redrive);
}

void purge(gateway_context& context, const exchange_ptr& call) {
  change_dead(context, call, core::bulk_kind::purge_dead, task_change::purge);
}

void list_dead(gateway_context& context, const exchange_ptr& call) {
  list_newest(context, call, std::string(to_string(task_state::dead)));
}

/// Ended tasks leave by their retention alone, and from then on nobody sees them; so nothing is
/// left to delete here, and clients that ask for it from time to time learn just that.
void clean_up(gateway_context& context, const exchange_ptr& call) {
  auto body = optional_body_of(call);
  if (!body)
    return;
  auto limit = body->integer("limit").value_or(0);
  auto before = body->text("before");
  if (!body->ok())
    return call->answer(refusal(400, "invalid body"));
  if (!before.empty() && !parse_rfc3339(before))
    return call->answer(refusal(400, "invalid 'before' (use RFC3339)"));
  base::json_writer json;
  json.begin_object()
    .field("deleted", 0)
    .field("before", before.empty() ? to_rfc3339(context.desk.now()) : before)
    .field("limit", limit)
    .end_object();
  call->answer(reply(200, json));
}

struct force_wish {
  force_kind how = force_kind::revoke;
  std::string text;
};

result<force_wish> read_force(json_object& body) {
  force_wish wish;
  auto how = body.text("how");
  auto reason = body.text("error");
  if (!body.ok())
    return error{errc::invalid_argument, "invalid body"};
  if (how == "revoke")
    return wish;
  if (how == "complete") {
    wish.how = force_kind::complete;
    wish.text = body.has("result") ? std::string(body.raw("result")) : std::string();
    return wish;
  }
  if (how == "fail") {
    wish.how = force_kind::fail;
    wish.text = std::move(reason);
    return wish;
  }
  return error{errc::invalid_argument, "how must be one of revoke, complete, fail"};
}

void force(gateway_context& context, const exchange_ptr& call) {
  auto body = body_of(call);
  if (!body)
    return;
  auto wish = read_force(*body);
  if (!wish)
    return call->answer(refusal_of(wish.error()));
  auto end = [&context, call, wish = *wish](const result<task_detail>& task) {
    if (!task)
      return call->answer(refusal_of(task.error()));
    auto id = task->status.id;
    context.desk.ask<change_outcome>(
      value(id.shard),
      client::ask_force(id, wish.how, wish.text),
      &client::read_change,
      shard_desk::then<change_outcome>(
        [call](result<change_outcome> outcome) { answer_change(call, outcome); }));
  };
  find_own(context, call, call->arguments[0], false, std::move(end));
}

void show_workers(gateway_context& context, const exchange_ptr& call) {
  with_stats(context, call, [call](const coordinator_stats& stats) {
    // Those of other tenants are none of the caller's business.
    auto own_prefix = worker_name_of(call->by->tenant, "");
    base::json_writer json;
    json.begin_object().key("workers").begin_array();
    for (const auto& w : stats.workers) {
      bool is_own = w.name.starts_with(own_prefix);
      bool is_seen = call->by->sees_all_tenants || w.tenants.contains(call->by->tenant);
      if (!is_own && !is_seen)
        continue;
      json.begin_object()
        .field("workerId", subject_of(w.name))
        .field("http", is_own)
        .field("connected", w.is_connected)
        .field("freeSlots", w.free_slots)
        .field("leases", w.leases)
        .end_object();
    }
    json.end_array().end_object();
    call->answer(reply(200, json));
  });
}

/// A shard's counts; an admin of one tenant learns of its own queues only.
void write_shard(base::json_writer& json, const coordinator_stats& stats, const caller& by) {
  auto is_own = [&](const queue_stats& q) { return q.queue.tenant == by.tenant; };
  auto own = std::count_if(stats.queues.begin(), stats.queues.end(), is_own);
  json.field("queues", by.sees_all_tenants ? std::ssize(stats.queues) : own);
  if (!by.sees_all_tenants)
    return;
  for (const auto& [name, value] : stats.gauges)
    json.field(name, value);
}

void show_shards(gateway_context& context, const exchange_ptr& call) {
  context.desk.stats_by_shard([call](const result<std::vector<coordinator_stats>>& all) {
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

void not_implemented(gateway_context&, const exchange_ptr& call) {
  call->answer(refusal(501, "not implemented"));
}

constexpr std::array<route, 12> routes{{
  {"GET", "admin/dead", access::admin, {}, "admin", &list_dead},
  {"POST", "admin/dead/redrive", access::admin, {}, "admin", &redrive},
  {"POST", "admin/dead/purge", access::admin, {}, "admin", &purge},
  {"POST", "admin/tasks/cleanup", access::admin, {}, "admin", &clean_up},
  {"POST", "admin/tasks/:/force", access::admin, {}, "admin", &force},
  {"GET", "admin/workers", access::admin, {}, "admin", &show_workers},
  {"GET", "admin/shards", access::admin, {}, "admin", &show_shards},
  {"POST", "workers/subscriptions", access::worker, "codeq:subscribe", {}, &not_implemented},
  {"POST",
   "workers/subscriptions/:/heartbeat",
   access::worker,
   "codeq:subscribe",
   {},
   &not_implemented},
  {"PUT", "admin/topics/:", access::admin, {}, {}, &not_implemented},
  {"GET", "admin/topics/:", access::admin, {}, {}, &not_implemented},
  {"DELETE", "admin/topics/:", access::admin, {}, {}, &not_implemented},
}};

} // namespace

std::span<const route> admin_routes() {
  return routes;
}

} // namespace codeq::http
