// SPDX-License-Identifier: Apache-2.0
#include "http/routes/bulk_walk.hpp"

#include "codeq/limits.hpp"

#include "client/dead_kinds.hpp"
#include "client/dead_walk.hpp"
#include "client/shard_walk.hpp"
#include "http/routes/queue_parts.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_list.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace codeq::http {

namespace {

/// Something that goes over the tasks of all shards, part by part.
struct walk {
  walk(gateway_context& from, exchange_ptr of) : context(&from), call(std::move(of)) {}

  gateway_context* context;
  exchange_ptr call;
  bool is_gone = false;
};

/// A walk that ends when the client goes away. The callbacks of the walk own it; a shared pointer
/// in the call would make a cycle.
template <class Walk, class Subject>
std::shared_ptr<Walk> begin(gateway_context& context, const exchange_ptr& call, Subject subject) {
  auto begun = std::make_shared<Walk>(context, call, std::move(subject));
  call->is_waiting = true;
  begun->call->on_gone = [weak = std::weak_ptr(begun)] {
    if (auto open = weak.lock())
      open->is_gone = true;
  };
  return begun;
}

void answer(const walk& w, base::json_writer& json) {
  w.call->on_gone = nullptr;
  w.call->answer(reply(200, json));
}

void answer_count(const walk& w, std::uint64_t changed) {
  base::json_writer json;
  json.begin_object().field("changed", changed).end_object();
  answer(w, json);
}

void refuse(const walk& w, const error& reason, std::uint64_t changed) {
  w.call->on_gone = nullptr;
  auto text = reason.context + "; " + std::to_string(changed) + " tasks were changed before";
  w.call->answer(refusal_of({reason.code, std::move(text)}));
}

/// False when the token of the request was revoked or has expired since.
bool is_still_valid(const walk& w) {
  return !w.call->by || !w.call->by->bearer || w.context->who(w.call->in.bearer) != nullptr;
}

/// Goes on after a pause, which puts the request's deadline off.
void go_on(walk& w, duration wait, std::function<void()> next) {
  if (!is_still_valid(w)) {
    w.is_gone = true;
    w.call->answer(invalid_token());
  }
  put_off_deadline(*w.context, *w.call, wait);
  if (wait == duration{0})
    return next();
  w.context->desk.after(wait, std::move(next));
}

struct queue_purge : walk {
  queue_purge(gateway_context& from, exchange_ptr of, queue_address purged)
    : walk(from, std::move(of)), queue(std::move(purged)) {}

  queue_address queue;
  client::bulk_pace pace{0, 0};
  client::walk_position at{};
};

void purge_next(const std::shared_ptr<queue_purge>& w);

void take_part(const std::shared_ptr<queue_purge>& w, const result<client::bulk_part>& part) {
  if (!part)
    return refuse(*w, part.error(), w->pace.changed());
  auto wait = w->pace.take(part->changed);
  w->at.after = part->more ? part->after : 0;
  w->at.shard += part->more ? 0 : 1;
  go_on(*w, wait, [w] { purge_next(w); });
}

void purge_next(const std::shared_ptr<queue_purge>& w) {
  w->at.limit = w->pace.next_part();
  if (w->at.shard == w->context->desk.shard_count() || w->is_gone)
    return answer_count(*w, w->pace.changed());
  w->context->desk.ask<client::bulk_part>(
    w->at.shard,
    client::change_many(core::bulk_kind::purge_all, w->queue, w->at),
    &client::read_bulk,
    shard_desk::then<client::bulk_part>(
      [w](result<client::bulk_part> part) { take_part(w, part); }),
    origin_of(*w->context, *w->call));
}

/// The dead tasks to change, and the queue that was named for them.
struct dead_wish {
  client::dead_walk tasks;
  queue_address queue;
};

struct dead_change_walk : walk {
  dead_change_walk(gateway_context& from, exchange_ptr of, dead_wish wish)
    : walk(from, std::move(of)), dead(std::move(wish.tasks)), queue(std::move(wish.queue)) {}

  client::dead_walk dead;
  queue_address queue;
};

void change_next(const std::shared_ptr<dead_change_walk>& w);

std::uint64_t changed_by(const dead_change_walk& w) {
  return w.dead.is_dry_run() ? 0 : w.dead.changed();
}

void take_list(const std::shared_ptr<dead_change_walk>& w, const result<client::list_part>& part) {
  result<void> ok = part ? w->dead.take(*part) : part.error();
  if (!ok)
    return refuse(*w, ok.error(), changed_by(*w));
  go_on(*w, duration{0}, [w] { change_next(w); });
}

void take_change(
  const std::shared_ptr<dead_change_walk>& w, const result<client::bulk_part>& part) {
  if (!part)
    return refuse(*w, part.error(), changed_by(*w));
  for (const auto& task : w->dead.redriven())
    w->context->webhooks.renew(w->call->by->tenant, task);
  go_on(*w, w->dead.take(*part), [w] { change_next(w); });
}

void answer_dead(const dead_change_walk& w, bool exists) {
  base::json_writer json;
  json.begin_object().field("changed", w.dead.changed());
  if (w.dead.is_dry_run())
    json.field("dryRun", true);
  if (!exists)
    json.field("exists", false);
  json.end_object();
  answer(w, json);
}

/// Answers how many tasks were changed; when none was, also whether the queue has another name.
void answer_dead(const std::shared_ptr<dead_change_walk>& w) {
  if (w->dead.changed() > 0 || w->queue.queue.empty() || w->is_gone)
    return answer_dead(*w, true);
  show_parts(*w->context, w->queue, [w](const result<queue_parts>& found) {
    answer_dead(*w, !found || client::merge_parts(w->queue, *found).exists);
  });
}

void change_next(const std::shared_ptr<dead_change_walk>& w) {
  if (w->dead.is_over() || w->is_gone)
    return answer_dead(w);
  if (w->dead.wants_list())
    return w->context->desk.list(
      w->call->by->tenant,
      w->dead.shard(),
      w->dead.next(),
      shard_desk::then<client::list_part>(
        [w](result<client::list_part> part) { take_list(w, part); }));
  w->context->desk.ask<client::bulk_part>(
    w->dead.shard(),
    w->dead.next(),
    &client::read_bulk,
    shard_desk::then<client::bulk_part>(
      [w](result<client::bulk_part> part) { take_change(w, part); }),
    origin_of(*w->context, *w->call));
}

/// The dead tasks to count: all that match, or the newest ones.
struct summary_wish {
  task_filter filter;
  std::size_t newest = 0;
};

struct summary_walk : walk {
  summary_walk(gateway_context& from, exchange_ptr of, summary_wish wish)
    : walk(from, std::move(of)), filter(std::move(wish.filter)), is_bounded(wish.newest > 0) {
    at.newest_first = is_bounded;
    auto share = wish.newest / from.desk.shard_count();
    at.limit = static_cast<std::uint32_t>(
      is_bounded ? std::clamp<std::size_t>(share, 1, limits::listed_page_max)
                 : limits::listed_page_max);
  }

  task_filter filter;
  /// Each shard is asked for one part.
  bool is_bounded;
  bool is_partial = false;
  client::dead_kinds kinds{};
  client::walk_position at{};
};

void answer_summary(const summary_walk& w) {
  auto found = w.kinds.summary();
  base::json_writer json;
  json.begin_object().key("kinds").begin_array();
  for (const auto& kind : found.kinds)
    write_kind(json, kind);
  json.end_array();
  json.field("tasks", found.tasks).field("leftOut", found.left_out);
  if (w.is_partial)
    json.field("partial", true);
  json.end_object();
  answer(w, json);
}

void summarize_next(const std::shared_ptr<summary_walk>& w);

void take_part(const std::shared_ptr<summary_walk>& w, result<client::list_part> part) {
  if (!part) {
    w->call->on_gone = nullptr;
    return w->call->answer(refusal_of(part.error()));
  }
  for (auto& task : part->tasks) {
    task.id.shard = static_cast<shard_id>(w->at.shard);
    w->kinds.add(task);
  }
  bool goes_on = part->more && !w->is_bounded;
  w->is_partial = w->is_partial || (part->more && w->is_bounded);
  w->at.after = goes_on ? part->after : 0;
  w->at.shard += goes_on ? 0 : 1;
  go_on(*w, duration{0}, [w] { summarize_next(w); });
}

void summarize_next(const std::shared_ptr<summary_walk>& w) {
  if (w->at.shard == w->context->desk.shard_count() || w->is_gone)
    return answer_summary(*w);
  w->context->desk.list(
    w->call->by->tenant,
    w->at.shard,
    client::list_tasks(w->filter, w->at),
    shard_desk::then<client::list_part>(
      [w](result<client::list_part> part) { take_part(w, std::move(part)); }));
}

/// The outcome for one task of a list.
struct each_outcome {
  std::string id;
  std::string what;
  /// Why it is not changed; empty when it is.
  std::string message{};
  bool is_changed = false;
  /// By now; nothing when that is not known.
  std::optional<task_state> state{};
};

void answer_each(const exchange_ptr& call, const std::vector<each_outcome>& all) {
  std::uint64_t changed = 0;
  for (const auto& one : all)
    changed += one.is_changed ? 1 : 0;
  base::json_writer json;
  json.begin_object().field("changed", changed).key("results").begin_array();
  for (const auto& one : all) {
    json.begin_object().field("id", one.id).field("outcome", one.what);
    if (one.state)
      json.field("state", to_string(*one.state));
    if (!one.message.empty())
      json.field("message", one.message);
    json.end_object();
  }
  json.end_array().end_object();
  call->answer(reply(200, json));
}

each_outcome outcome_of(
  const std::string& id, task_change change, const result<change_outcome>& outcome) {
  if (!outcome && outcome.error().code == errc::unknown_task)
    return {id, "not_found", outcome.error().context};
  if (!outcome)
    return {id, outcome.error().context};
  auto what = outcome->what;
  each_outcome one{
    id, std::string(to_string(what)), outcome_text(*outcome), what == change_result::changed};
  bool is_gone = what == change_result::not_found
                 || (change == task_change::purge && what == change_result::changed);
  if (!is_gone)
    one.state = outcome->state;
  return one;
}

} // namespace

void purge_queue(gateway_context& context, const exchange_ptr& call, const queue_address& queue) {
  purge_next(begin<queue_purge>(context, call, queue));
}

void change_all_dead(
  gateway_context& context,
  const exchange_ptr& call,
  const dead_filter& filter,
  dead_change what) {
  client::dead_walk dead(filter, what, context.desk.shard_count());
  dead_wish wish{std::move(dead), {filter.tenant, filter.queue}};
  change_next(begin<dead_change_walk>(context, call, std::move(wish)));
}

void summarize_dead(
  gateway_context& context,
  const exchange_ptr& call,
  const dead_filter& filter,
  std::size_t newest) {
  summarize_next(begin<summary_walk>(
    context, call, summary_wish{client::filter_of(filter), newest}));
}

void change_each(
  gateway_context& context,
  const exchange_ptr& call,
  const std::vector<std::string>& ids,
  task_change what) {
  if (ids.empty())
    return answer_each(call, {});
  auto finish = [call](const std::vector<each_outcome>& all) { answer_each(call, all); };
  auto gathered = std::make_shared<gathering<each_outcome>>(ids.size(), std::move(finish));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto set = [&context, call, gathered, i, id = ids[i], what](
                 const result<change_outcome>& outcome) {
      if (outcome && outcome->what == change_result::changed && what == task_change::redrive)
        context.webhooks.renew(call->by->tenant, outcome->id);
      gathered->set(i, outcome_of(id, what, outcome));
    };
    auto change = [&context, call, set, what](const result<task_detail>& task) {
      if (!task)
        return set(task.error());
      auto id = task->status.id;
      context.desk.ask<change_outcome>(
        value(id.shard),
        client::ask_change({id, {}}, what),
        &client::read_change,
        shard_desk::then<change_outcome>(set),
        origin_of(context, *call));
    };
    find_own(context, call, ids[i], false, std::move(change));
  }
}

} // namespace codeq::http
