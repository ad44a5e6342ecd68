// SPDX-License-Identifier: Apache-2.0
#include "http/routes/task_list.hpp"

#include "codeq/limits.hpp"

#include "client/task_pages.hpp"
#include "http/json/input_refusal.hpp"
#include "http/routes/route_steps.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::http {

namespace {

void answer_page(const exchange_ptr& call, const task_page& found) {
  base::json_writer json;
  json.begin_object().key("tasks").begin_array();
  for (const auto& task : found.tasks)
    write_listed(json, task);
  json.end_array();
  if (!found.after.empty())
    json.field("after", found.after);
  if (found.is_partial)
    json.field("partial", true);
  json.end_object();
  call->answer(reply(200, json));
}

} // namespace

result<std::string> queue_listed(const caller& by, const std::string& queue) {
  // A list is of one queue or of all.
  auto listed = queue.empty() && by.queues.size() == 1 ? by.queues.front() : queue;
  if (listed.empty() && !by.all_queues)
    return error{
      errc::unauthorized, "queue is required, and has to be one of those that the token names"};
  if (!by.may_use(listed))
    return refuse_command(listed);
  return listed;
}

void list_page(gateway_context& context, const exchange_ptr& call, task_filter filter) {
  const auto& query = call->fields->query;
  auto queue = queue_listed(*call->by, query.text("queue"));
  if (!queue)
    return call->answer(refusal_of(queue.error()));
  filter.tenant = call->by->tenant;
  filter.queue = std::move(*queue);
  page_request page;
  page.limit =
    static_cast<std::size_t>(query.integer("limit").value_or(limits::listed_tasks_default));
  page.order = static_cast<list_order>(
    query.choice("order").value_or(static_cast<std::size_t>(list_order::newest_first)));
  page.after = query.text("after");
  auto pages = client::page_merge::begin(filter, page, context.desk.shard_count());
  if (!pages) {
    auto rule = "what an earlier page of the same list said";
    return call->answer(
      refusal_of(refuse_input({}, describe_value("'after'", quote(page.after), rule))));
  }
  auto ask = [&](std::uint16_t shard, shard_desk::then<client::list_part> told) {
    context.desk.list(filter.tenant, shard, pages->question_for(shard), std::move(told));
  };
  auto finish = [call, pages = *pages](result<client::told_parts<client::list_part>> told) {
    auto merged = told ? pages.merge(std::move(told->parts), std::move(told->missing))
                       : result<task_page>(told.error());
    if (!merged)
      return call->answer(refusal_of(merged.error()));
    answer_page(call, *merged);
  };
  read_from_shards<client::list_part>(
    context,
    call,
    ask,
    shard_desk::then<client::told_parts<client::list_part>>(std::move(finish)));
}

result<void> check_whole(const input& body, bool has_filter, bool is_loss) {
  bool is_whole = body.flag("all").value_or(false);
  if (is_whole && has_filter)
    return refuse_input({}, "'all' is given with a filter; give one of them");
  if (is_loss && !is_whole && !has_filter)
    return refuse_input(
      {},
      "no filter is given, which would change every task of the tenant; give 'queue' or another "
      "filter, or 'all' as true");
  return {};
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

std::string outcome_text(const change_outcome& outcome) {
  switch (outcome.what) {
  case change_result::changed:
  case change_result::not_found:
    return {};
  case change_result::requested:
    return "its worker is asked to stop, and may still complete it";
  case change_result::unchanged:
    return "the task is " + std::string(to_string(outcome.state)) + " and stays so";
  case change_result::guarded:
    return "its producer did not set allowPromotion, so its own time stands";
  case change_result::key_taken:
    return "another task that has not ended has its key";
  }
  return {};
}

void answer_change(const exchange_ptr& call, const result<change_outcome>& outcome) {
  bool is_missing = outcome ? outcome->what == change_result::not_found
                            : outcome.error().code == errc::unknown_task;
  bool has_key = call->arguments.size() > 1;
  if (is_missing)
    return call->answer(refusal(
      404,
      has_key ? missing_key(*call)
              : missing_task("not found", *call->by, call->arguments[0])));
  if (!outcome)
    return call->answer(refusal_of(outcome.error()));
  base::json_writer json;
  json.begin_object()
    .field("id", to_string(outcome->id))
    .field("outcome", to_string(outcome->what))
    .field("status", status_name(outcome->state))
    .field("state", to_string(outcome->state));
  if (auto text = outcome_text(*outcome); !text.empty())
    json.field("message", text);
  json.end_object();
  call->answer(reply(200, json));
}

} // namespace codeq::http
