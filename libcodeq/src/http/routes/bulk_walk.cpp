// SPDX-License-Identifier: Apache-2.0
#include "http/routes/bulk_walk.hpp"

#include "client/shard_walk.hpp"
#include "http/routes/route_steps.hpp"

#include <memory>

namespace codeq::http {

namespace {

/// A change of many tasks that goes from shard to shard.
struct walk {
  gateway_context* context = nullptr;
  exchange_ptr call;
  core::bulk_kind what{};
  queue_address of;
  client::bulk_pace pace;
  client::walk_position at;
  bool is_gone = false;
};

void answer(const walk& w) {
  w.call->on_gone = nullptr;
  base::json_writer json;
  json.begin_object().field("changed", w.pace.changed()).end_object();
  w.call->answer(reply(200, json));
}

void change_next(const std::shared_ptr<walk>& w);

void take_part(const std::shared_ptr<walk>& w, const result<client::bulk_part>& part) {
  if (!part) {
    w->call->on_gone = nullptr;
    auto text = part.error().context + "; " + std::to_string(w->pace.changed())
                + " tasks were changed before";
    return w->call->answer(refusal_of({part.error().code, std::move(text)}));
  }
  auto wait = w->pace.take(part->changed);
  w->at.after = part->more ? part->after : 0;
  w->at.shard += part->more ? 0 : 1;
  put_off_deadline(*w->context, *w->call, wait);
  if (wait == duration{0})
    return change_next(w);
  w->context->desk.after(wait, [w] { change_next(w); });
}

void change_next(const std::shared_ptr<walk>& w) {
  w->at.limit = w->pace.next_part();
  bool is_over = w->at.shard == w->context->desk.shard_count() || w->at.limit == 0 || w->is_gone;
  if (is_over)
    return answer(*w);
  w->context->desk.ask<client::bulk_part>(
    w->at.shard,
    client::change_many(w->what, w->of, w->at),
    &client::read_bulk,
    shard_desk::then<client::bulk_part>(
      [w](result<client::bulk_part> part) { take_part(w, part); }),
    origin_of(*w->context, *w->call));
}

/// The outcome for one task of a list.
struct each_outcome {
  std::string id;
  std::string what;
  bool is_changed = false;
};

void answer_each(const exchange_ptr& call, const std::vector<each_outcome>& all) {
  std::uint64_t changed = 0;
  for (const auto& one : all)
    changed += one.is_changed ? 1 : 0;
  base::json_writer json;
  json.begin_object().field("changed", changed).key("results").begin_array();
  for (const auto& one : all)
    json.begin_object().field("id", one.id).field("outcome", one.what).end_object();
  json.end_array().end_object();
  call->answer(reply(200, json));
}

each_outcome outcome_of(const std::string& id, const result<change_outcome>& outcome) {
  if (!outcome)
    return {id, outcome.error().code == errc::unknown_task ? "not_found" : outcome.error().context};
  return {id, std::string(to_string(outcome->what)), outcome->what == change_result::changed};
}

} // namespace

void change_all(
  gateway_context& context, const exchange_ptr& call, core::bulk_kind what, const bulk_wish& wish) {
  auto w = std::make_shared<walk>(
    walk{&context, call, what, wish.of, client::bulk_pace(wish.limit, wish.rate), {}});
  // The callbacks of the walk own it. A shared pointer here would make a cycle with the call.
  call->on_gone = [weak = std::weak_ptr(w)] {
    if (auto open = weak.lock())
      open->is_gone = true;
  };
  change_next(w);
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
    auto set = [gathered, i, id = ids[i]](const result<change_outcome>& outcome) {
      gathered->set(i, outcome_of(id, outcome));
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
