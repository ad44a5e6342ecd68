// SPDX-License-Identifier: Apache-2.0
#include "client/fairness_sums.hpp"
#include "client/limit_questions.hpp"
#include "client/shard_walk.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/limit_json.hpp"
#include "http/json/task_fields.hpp"
#include "http/json/task_input.hpp"
#include "http/json/task_json.hpp"
#include "http/routes/bulk_walk.hpp"
#include "http/routes/queue_parts.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/slot_demand.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

/// Queues, for admins; and for autoscalers, how many slots one needs.
namespace codeq::http {

namespace {

/// The counts of the caller's tenant, one queue after the other.
template <class Visit>
void each_own_queue(const base::coordinator_counts& stats, const caller& by, Visit visit) {
  for (const auto& q : stats.queues) {
    if (q.queue.tenant == by.tenant)
      visit(q);
  }
}

/// The counts of a queue; null: it has no tasks and no settings.
const base::queue_counts*
find_counts(const base::coordinator_counts& stats, const queue_address& queue) {
  auto at = std::find_if(stats.queues.begin(), stats.queues.end(), [&](const auto& q) {
    return q.queue == queue;
  });
  return at == stats.queues.end() ? nullptr : &*at;
}

/// The ready tasks by priority, without the priorities that have none.
void write_priorities(base::json_writer& json, const queue_stats& queue) {
  json.begin_object("readyByPriority");
  for (std::size_t p = 0; p < queue.ready_by_priority.size(); ++p)
    if (queue.ready_by_priority[p] > 0)
      json.field(std::to_string(p), queue.ready_by_priority[p]);
  json.end_object();
}

/// In codeQ's form: one member for each count.
std::string counters_of_queues(const base::coordinator_counts& stats, const caller& by) {
  base::json_writer json;
  json.begin_object();
  each_own_queue(stats, by, [&](const base::queue_counts& q) {
    auto name = "codeq:q:" + q.queue.queue + ":" + q.queue.tenant + ":";
    for (std::size_t p = 0; p < q.ready_by_priority.size(); ++p)
      json.field(name + "pending:" + std::to_string(p), q.ready_by_priority[p]);
    json.field(name + "inprog", q.leased)
      .field(name + "delayed", q.scheduled)
      .field(name + "gated", q.gated)
      .field(name + "dlq", q.dead_now);
  });
  json.end_object();
  return json.take();
}

/// One object for each queue.
std::string list_of_queues(const base::coordinator_counts& stats, const caller& by) {
  base::json_writer json;
  json.begin_object().begin_array("queues");
  each_own_queue(stats, by, [&](const base::queue_counts& q) {
    json.begin_object()
      .field("queue", q.queue.queue)
      .field("paused", q.paused)
      .field("scheduled", q.scheduled)
      .field("gated", q.gated)
      .field("ready", q.ready)
      .field("held", q.held)
      .field("oldestReadyAgeMs", q.oldest_ready.count())
      .field("leased", q.leased)
      .field("dead", q.dead_now)
      .field("maxDepth", q.max_depth)
      .field("maxLeased", q.max_leased)
      .field("completed", q.completed)
      .field("cancelled", q.cancelled)
      .field("died", q.dead)
      .field("lost", q.lost);
    write_priorities(json, q);
    json.end_object();
  });
  json.end_array().field("tenantId", by.tenant).end_object();
  return json.take();
}

constexpr auto queue_forms = std::to_array<std::string_view>({"counters", "list"});

void show_all(gateway_context& context, const exchange_ptr& call) {
  bool as_list = call->fields->query.text("as") == queue_forms[1];
  with_stats(context, call, [&context, call, as_list](const base::coordinator_counts& stats) {
    // With many queues the list is long, and those who asked at the same time share it.
    if (context.queue_lists_number != context.desk.stats_number())
      context.queue_lists.clear();
    context.queue_lists_number = context.desk.stats_number();
    auto [at, is_new] = context.queue_lists.try_emplace({call->by->tenant, as_list});
    if (is_new)
      at->second =
        as_list ? list_of_queues(stats, *call->by) : counters_of_queues(stats, *call->by);
    call->share = context.desk.answers().open(call->by->tenant);
    if (at->second.size() > limits::http_small_answer_bytes)
      if (auto ok = call->share->resize(at->second.size()); !ok)
        return call->answer(refusal_of(ok.error()));
    response answer;
    answer.body = at->second;
    call->answer(std::move(answer));
    // All who share the list are answered by then.
    if (is_new)
      context.desk.after(duration{0}, [&context] { context.queue_lists.clear(); });
  });
}

/// The queue that the path names; answers when no queue can have that name.
std::optional<queue_address> queue_meant(const exchange_ptr& call) {
  queue_address queue{call->by->tenant, call->arguments[0]};
  auto ok = check_queue_name("command", queue.queue);
  if (ok)
    return queue;
  call->answer(refusal_of(ok.error()));
  return std::nullopt;
}

void show_one(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  with_stats(context, call, [call, queue = *queue](const base::coordinator_counts& stats) {
    const auto* found = find_counts(stats, queue);
    const auto counts = found ? *found : base::queue_counts{};
    base::json_writer json;
    json.begin_object()
      .field("command", queue.queue)
      .field("queue", queue.queue)
      .field("exists", found != nullptr)
      .field("ready", counts.ready)
      .field("held", counts.held)
      .field("delayed", counts.scheduled)
      .field("gated", counts.gated)
      .field("inProgress", counts.leased)
      .field("dlq", counts.dead_now)
      .field("completed", counts.completed)
      .field("cancelled", counts.cancelled)
      .field("died", counts.dead)
      .field("lost", counts.lost)
      .field("paused", counts.paused)
      .field("maxDepth", counts.max_depth)
      .field("maxLeased", counts.max_leased)
      .field("oldestReadyAgeMs", counts.oldest_ready.count());
    write_priorities(json, counts);
    json.end_object();
    call->answer(reply(200, json));
  });
}

/// Says how many slots a queue needs; a queue without tasks needs none.
void show_demand(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  queue_address queue{call->by->tenant, query.text("queue")};
  if (!call->by->may_use(queue.queue))
    return call->answer(refusal_of(refuse_command(queue.queue)));
  auto within = query.period("within").value_or(limits::autoscale_within_default);
  with_stats(context, call, [call, queue, within](const base::coordinator_counts& stats) {
    const auto* found = find_counts(stats, queue);
    const auto counts = found ? *found : base::queue_counts{};
    const auto demand = demand_of(counts, within);
    base::json_writer json;
    json.begin_object()
      .field("queue", queue.queue)
      .field("exists", found != nullptr)
      .field("wantedSlots", demand.wanted_slots)
      .field("backlog", demand.backlog)
      .key("runTimeMs");
    demand.run_time ? json.number(std::int64_t{demand.run_time->count()}) : json.null();
    json.field("oldestReadyAgeMs", counts.oldest_ready.count()).end_object();
    call->answer(reply(200, json));
  });
}

void answer_info(const exchange_ptr& call, const queue_info& info) {
  const auto& queue = info.queue;
  base::json_writer json;
  json.begin_object()
    .field("command", queue.queue)
    .field("queue", queue.queue)
    .field("paused", info.paused)
    .field("pauseReason", info.pause_reason)
    .field("exists", info.exists);
  write_settings(json.key("settings"), info.config);
  json.field("uniform", info.is_uniform).end_object();
  call->answer(reply(200, json));
}

void answer_queue(
  const exchange_ptr& call, const queue_address& queue, const result<queue_parts>& found) {
  if (!found)
    return call->answer(refusal_of(found.error()));
  answer_info(call, client::merge_parts(queue, *found));
}

/// Goes on with what the shards say of these fairness keys, if one of them has the queue, or one
/// that does not answer may have it.
void ask_fairness(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  const core::fairness_part& part,
  std::function<void(const queue_parts&)> go_on) {
  using told_parts = client::told_parts<client::queue_part>;
  auto question_of = [queue, part](std::uint16_t shard) {
    return client::show_fairness(shard, queue, part);
  };
  auto take = [call, queue, go_on = std::move(go_on)](const result<told_parts>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    if (!client::is_known(found->parts) && found->missing.empty())
      return call->answer(refusal_of(missing_queue(queue)));
    go_on(found->parts);
  };
  read_queue_parts(context, call, question_of, std::move(take));
}

void answer_fairness(const exchange_ptr& call, const fairness_page& page) {
  base::json_writer json;
  write_fairness(json, page);
  call->answer(reply(200, json));
}

void show_fairness(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  const auto& query = call->fields->query;
  auto limit = static_cast<std::uint32_t>(
    query.integer("limit").value_or(limits::fairness_page_default));
  core::fairness_part wanted{query.text("after"), limit, !query.has("after")};
  auto take = [&context, call, queue = *queue, wanted](const queue_parts& all) {
    if (client::has_all_keys(all))
      return answer_fairness(call, client::merge_fairness(queue, all, wanted));
    auto answer = [call, queue, wanted](const queue_parts& pages) {
      answer_fairness(call, client::merge_fairness_pages(queue, pages, wanted.limit));
    };
    ask_fairness(context, call, queue, wanted, std::move(answer));
  };
  ask_fairness(context, call, *queue, client::all_fairness_keys(), std::move(take));
}

void answer_waits(
  gateway_context& context, const exchange_ptr& call, const queue_explanation& why) {
  base::json_writer json;
  write_explanation(json, why, context.desk.now());
  call->answer(reply(200, json));
}

/// Adds what the shards that own the keys know of them, if they answer, and answers.
void answer_with_owned(
  gateway_context& context, const exchange_ptr& call, const queue_explanation& why) {
  using part = std::optional<result<client::limits_part>>;
  if (why.keys.empty())
    return answer_waits(context, call, why);
  auto finish = [&context, call, why](const std::vector<part>& told) {
    auto whole = why;
    for (std::size_t i = 0; i < told.size(); ++i)
      if (*told[i])
        client::add_owned(whole.keys[i].at, **told[i]);
    answer_waits(context, call, whole);
  };
  auto gathered = std::make_shared<gathering<part>>(why.keys.size(), finish);
  for (std::size_t i = 0; i < why.keys.size(); ++i) {
    const auto& [name, at] = why.keys[i];
    const limit_address limit{why.queue.tenant, name};
    const auto shard = client::shard_of_key(limit, at.key, context.desk.shard_count());
    auto take = [gathered, i](const result<client::limits_part>& told) { gathered->set(i, told); };
    if (client::has_told(why, shard))
      context.desk.ask<client::limits_part>(
        shard, client::ask_limit_key(shard, limit, at.key), &client::read_limits, take);
    else
      take(error{errc::unavailable, "the shard has not answered"});
  }
}

/// Accounts for the waiting tasks; a shard that does not answer is named.
void explain_queue(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  auto ask = [&](std::uint16_t shard, shard_desk::then<client::queue_part> told) {
    auto question = client::explain_queue(shard, *queue);
    context.desk.ask<client::queue_part>(shard, question, &client::read_queue, std::move(told), {});
  };
  auto finish = [&context, call, queue = *queue](
                  const std::vector<result<client::queue_part>>& parts) {
    auto whole = client::merge_explanations(queue, parts);
    if (!whole)
      return call->answer(refusal_of(whole.error()));
    // A shard that did not answer may know the queue.
    if (!whole->exists && whole->missing_shards.empty())
      return call->answer(refusal_of(missing_queue(queue)));
    answer_with_owned(context, call, *whole);
  };
  gather_each_from_shards<client::queue_part>(context, ask, finish);
}

void set_paused(gateway_context& context, const exchange_ptr& call, bool paused) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  with_existing(context, call, *queue, [&context, call, queue = *queue, paused] {
    auto question_of = [queue, paused](std::uint16_t shard) {
      return client::pause_queue(shard, queue, paused);
    };
    auto answer = [call, queue](const result<queue_parts>& found) {
      answer_queue(call, queue, found);
    };
    ask_parts(context, question_of, answer, origin_of(context, *call));
  });
}

void pause_queue(gateway_context& context, const exchange_ptr& call) {
  set_paused(context, call, true);
}

void resume_queue(gateway_context& context, const exchange_ptr& call) {
  set_paused(context, call, false);
}

void show_settings(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  auto question_of = [queue = *queue](std::uint16_t shard) {
    return client::show_queue(shard, queue);
  };
  auto answer = [call, queue = *queue](
                  const result<client::told_parts<client::queue_part>>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    answer_info(call, client::merge_parts(queue, found->parts, found->missing));
  };
  read_queue_parts(context, call, question_of, answer, client::first_shard::required);
}

/// Reads the settings and writes them changed; `taken` is held until then.
void change_locked(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  const queue_locks::lock& taken) {
  auto change = [&context, call, queue, taken](const result<queue_parts>& found) {
    if (!found)
      return call->answer(refusal_of(client::before_change(found.error())));
    auto wanted = settings_after(client::merge_parts(queue, *found), call->fields->body);
    if (auto ok = check_retry(wanted.config.defaults.retry); !ok)
      return call->answer(refusal_of(ok.error()));
    auto answer = [call, queue, taken](const result<queue_parts>& changed) {
      answer_queue(call, queue, changed);
    };
    set_parts(context, call, queue, wanted, answer);
  };
  show_parts(context, queue, std::move(change));
}

/// Settings that the body leaves out stay as they are.
void change_settings(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  if (auto ok = check_settings(call->fields->body); !ok)
    return call->answer(refusal_of(ok.error()));
  // A request that is given up while it waits occupies no memory any more.
  auto locked = [&context, weak = std::weak_ptr(call), queue = *queue](
                  const queue_locks::lock& taken) {
    if (auto open = weak.lock(); open && !open->is_answered)
      change_locked(context, open, queue, taken);
  };
  context.changing_queues.take(*queue, std::move(locked));
}

/// Removes all tasks of a queue, whatever their state.
void purge_whole_queue(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_meant(call);
  if (!queue)
    return;
  with_existing(context, call, *queue, [&context, call, queue = *queue] {
    purge_queue(context, call, queue);
  });
}

constexpr auto fairness_parameters = std::to_array<input_field>({
  {.name = "after", .range = at_most(limits::fairness_key_bytes_max)},
  {.name = "limit", .type = input_type::integer, .range = {1, limits::fairness_page_max}},
});

constexpr auto queues_parameters = std::to_array<input_field>({
  {.name = "as", .type = input_type::choice, .choices = queue_forms},
});

constexpr auto demand_parameters = std::to_array<input_field>({
  {.name = "queue", .type = input_type::queue, .is_required = true, .refusal = "invalid queue"},
  {.name = "within",
   .type = input_type::period,
   .range = milliseconds_in(limits::autoscale_within_min, limits::autoscale_within_max)},
});

constexpr std::array<route, 10> queue_table{{
  {.method = "GET",
   .pattern = "admin/queues",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_all,
   .fields = {.query = queues_parameters}},
  {.method = "GET",
   .pattern = "admin/queues/:",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_one},
  {.method = "POST",
   .pattern = "admin/queues/:/pause",
   .who = access::admin,
   .rate = "admin",
   .run = &pause_queue},
  {.method = "POST",
   .pattern = "admin/queues/:/resume",
   .who = access::admin,
   .rate = "admin",
   .run = &resume_queue},
  {.method = "POST",
   .pattern = "admin/queues/:/purge",
   .who = access::admin,
   .rate = "admin",
   .run = &purge_whole_queue},
  {.method = "GET",
   .pattern = "admin/queues/:/settings",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_settings},
  {.method = "GET",
   .pattern = "admin/queues/:/fairness",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_fairness,
   .fields = {.query = fairness_parameters}},
  {.method = "GET",
   .pattern = "admin/queues/:/explain",
   .who = access::inspect,
   .rate = "admin",
   .run = &explain_queue},
  {.method = "PUT",
   .pattern = "admin/queues/:/settings",
   .who = access::admin,
   .rate = "admin",
   .run = &change_settings,
   .fields = {.body = {settings_fields}, .need = body_need::required}},
  {.method = "GET",
   .pattern = "autoscale",
   .who = access::any,
   .rate = "admin",
   .run = &show_demand,
   .fields = {.query = demand_parameters}},
}};

} // namespace

std::span<const route> queue_routes() {
  return queue_table;
}

} // namespace codeq::http
