// SPDX-License-Identifier: Apache-2.0
#include "http/routes/task_list.hpp"

#include "codeq/limits.hpp"

#include "http/json/input_refusal.hpp"
#include "http/routes/route_steps.hpp"

#include <algorithm>
#include <charconv>

namespace codeq::http {

namespace {

/// Where a page begins: for each shard the sequence that it stays below; 0 is no bound.
using page_place = std::vector<sequence>;

std::string to_text(const page_place& place) {
  std::string text;
  for (auto below : place)
    text += (text.empty() ? "" : ".") + std::to_string(below);
  return text;
}

std::optional<page_place> read_place(std::string_view text, std::size_t shards) {
  page_place place;
  if (text.empty())
    return page_place(shards, 0);
  while (true) {
    auto end = text.find('.');
    auto part = text.substr(0, end);
    sequence below = 0;
    auto [stop, failure] = std::from_chars(part.data(), part.data() + part.size(), below);
    if (failure != std::errc{} || stop != part.data() + part.size())
      return std::nullopt;
    place.push_back(below);
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
  }
  if (place.size() != shards)
    return std::nullopt;
  return place;
}

struct page_wish {
  task_filter filter;
  std::size_t limit = limits::listed_tasks_default;
  page_place place;
};

/// The newest of what the shards told, and where the next page begins; empty when there is none.
struct page {
  std::vector<task_summary> tasks;
  std::string after;
};

page merge_newest(std::vector<client::list_part> parts, const page_wish& wish) {
  page merged;
  auto place = wish.place;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (auto& task : parts[i].tasks) {
      task.id.shard = static_cast<shard_id>(i);
      merged.tasks.push_back(std::move(task));
    }
  }
  std::sort(merged.tasks.begin(), merged.tasks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.enqueued_at, a.id) > std::tie(b.enqueued_at, b.id);
  });
  bool is_cut = merged.tasks.size() > wish.limit;
  std::vector<bool> is_left(parts.size(), false);
  for (std::size_t i = wish.limit; i < merged.tasks.size(); ++i)
    is_left[value(merged.tasks[i].id.shard)] = true;
  merged.tasks.resize(std::min(merged.tasks.size(), wish.limit));
  bool any_more = is_cut;
  // A shard goes on behind what was looked at, or behind the last of its tasks that is shown.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    any_more = any_more || parts[i].more;
    if (!is_left[i])
      place[i] = parts[i].more ? parts[i].after : 1;
  }
  for (const auto& task : merged.tasks) {
    if (is_left[value(task.id.shard)])
      place[value(task.id.shard)] = task.id.seq;
  }
  if (any_more)
    merged.after = to_text(place);
  return merged;
}

void answer_page(const exchange_ptr& call, const page& found) {
  base::json_writer json;
  json.begin_object().key("tasks").begin_array();
  for (const auto& task : found.tasks)
    write_listed(json, task);
  json.end_array();
  if (!found.after.empty())
    json.field("after", found.after);
  json.end_object();
  call->answer(reply(200, json));
}

/// What the query asks for. Errors: `invalid_argument` names the parameter; `unauthorized`.
result<page_wish> read_wish(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  page_wish wish;
  wish.filter.tenant = call->by->tenant;
  wish.filter.queue = query.text("queue");
  wish.limit =
    static_cast<std::size_t>(query.integer("limit").value_or(limits::listed_tasks_default));
  // A list is of one queue or of all.
  if (wish.filter.queue.empty() && call->by->queues.size() == 1)
    wish.filter.queue = call->by->queues.front();
  if (wish.filter.queue.empty() && !call->by->all_queues)
    return error{errc::unauthorized, "queue is required; the token is for some queues only"};
  if (!call->by->may_use(wish.filter.queue))
    return error{errc::unauthorized, "command not allowed"};
  auto after = query.text("after");
  auto place = read_place(after, context.desk.shard_count());
  if (!place)
    return refuse_input({}, describe_value("'after'", quote(after), "what an earlier page said"));
  wish.place = std::move(*place);
  return wish;
}

} // namespace

void list_newest(
  gateway_context& context, const exchange_ptr& call, std::optional<task_state> state) {
  auto wish = read_wish(context, call);
  if (!wish)
    return call->answer(refusal_of(wish.error()));
  wish->filter.state = state;
  auto question_of = [wish = *wish](std::uint16_t shard) {
    client::walk_position at;
    at.shard = shard;
    at.limit = static_cast<std::uint32_t>(wish.limit);
    at.below = wish.place[shard];
    at.newest_first = true;
    return client::list_tasks(wish.filter, at);
  };
  auto finish = [call, wish = *wish](result<std::vector<client::list_part>> parts) {
    if (!parts)
      return call->answer(refusal_of(parts.error()));
    answer_page(call, merge_newest(std::move(*parts), wish));
  };
  ask_each_shard<client::list_part>(
    context,
    question_of,
    &client::read_list,
    shard_desk::then<std::vector<client::list_part>>(std::move(finish)));
}

void change_task(
  gateway_context& context,
  const exchange_ptr& call,
  const client::task_address& task,
  task_change what) {
  auto finish = [call](const result<change_outcome>& outcome) { answer_change(call, outcome); };
  context.desk.ask<change_outcome>(
    value(task.task.shard),
    client::ask_change(task, what),
    &client::read_change,
    shard_desk::then<change_outcome>(std::move(finish)),
    origin_of(context, *call));
}

void answer_change(const exchange_ptr& call, const result<change_outcome>& outcome) {
  bool is_missing = outcome ? outcome->what == change_result::not_found
                            : outcome.error().code == errc::unknown_task;
  if (is_missing)
    return call->answer(refusal(404, "not found"));
  if (!outcome)
    return call->answer(refusal_of(outcome.error()));
  base::json_writer json;
  json.begin_object()
    .field("id", to_string(outcome->id))
    .field("outcome", to_string(outcome->what))
    .field("status", status_name(outcome->state))
    .field("state", to_string(outcome->state))
    .end_object();
  call->answer(reply(200, json));
}

} // namespace codeq::http
