// SPDX-License-Identifier: Apache-2.0
#include "http/routes/route_steps.hpp"

#include "client/cluster_sums.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>

namespace codeq::http {

std::string missing_task(std::string_view beginning, const caller& by, std::string_view id) {
  auto text = std::string(beginning) + ": ";
  if (id.size() != to_string(task_id{}).size())
    return text + quote(id) + " is not a task id; POST /v1/codeq/tasks answers with one";
  text += "tenant " + quote(by.tenant) + " has no task " + quote(id) + ", or its retention is over";
  return by.all_queues ? text : text + ", or the token does not name its queue";
}

std::string missing_key(const exchange& call) {
  auto group = call.fields->query.text("group");
  auto text = "not found: queue " + quote(call.arguments[0]) + " has no task with key "
              + quote(call.arguments[1]);
  return group.empty() ? text + "; for the key of a group add '?group='"
                       : text + " in group " + quote(group);
}

void find_own(
  gateway_context& context,
  const exchange_ptr& call,
  std::string_view id,
  bool with_body,
  shard_desk::then<task_detail> done) {
  auto task = parse_task_id(id);
  if (!task)
    return done(error{errc::unknown_task, missing_task("not found", *call->by, id)});
  auto check = [by = call->by, id = std::string(id), done = std::move(done)](
                 result<task_detail> found) {
    bool is_foreign =
      found && (found->status.tenant != by->tenant || !by->may_use(found->status.queue));
    if (is_foreign || (!found && found.error().code == errc::unknown_task))
      return done(error{errc::unknown_task, missing_task("not found", *by, id)});
    done(std::move(found));
  };
  if (with_body)
    context.desk.describe_with_body(call->by->tenant, {*task, {}}, std::move(check));
  else
    context.desk.describe({*task, {}}, std::move(check));
}

error refuse_queue(const std::string& queue) {
  return {
    errc::unauthorized, "event type not allowed: the token does not name queue " + quote(queue)};
}

error refuse_command(const std::string& queue) {
  return {
    errc::unauthorized, "command not allowed: the token does not name queue " + quote(queue)};
}

task_view view_for(gateway_context& context, const exchange& call) {
  return {context.desk.now(), call.fields->query.text(payload_field.name) == "json"};
}

core::origin_ptr origin_of(gateway_context& context, exchange& call) {
  if (call.origin)
    return call.origin;
  core::command_origin origin{context.desk.now(), context.desk.next_operation()};
  origin.subject = call.by->bearer ? call.by->subject : std::string();
  origin.tenant = call.by->bearer ? call.by->bearer->tenant : std::string();
  origin.remote = call.in.remote;
  origin.is_audited = call.by->is_admin;
  call.origin = std::make_shared<const core::command_origin>(std::move(origin));
  return call.origin;
}

void put_off_deadline(gateway_context& context, exchange& call, duration wait) {
  call.deadline = context.desk.steady_now() + wait + limits::http_request_time_max;
}

namespace {

/// Adds the field, unless the number is 0 or a later read of the same request has added it.
void add_count(response& to, const std::string& name, std::size_t count) {
  const auto is_same = [&name](const auto& field) { return field.first == name; };
  if (count > 0 && std::none_of(to.fields.begin(), to.fields.end(), is_same))
    to.fields.emplace_back(name, std::to_string(count));
}

} // namespace

void say_missing(exchange& call, const missing_parts& missing) {
  call.answer = [answer = std::move(call.answer), missing](response r) {
    add_count(r, "Codeq-Missing-Coordinators", missing.coordinators);
    add_count(r, "Codeq-Missing-Shards", missing.shards);
    answer(std::move(r));
  };
}

void say_missing(
  gateway_context& context, exchange& call, const std::vector<shard_id>& shards) {
  say_missing(call, {context.desk.nodes_of(shards), shards.size()});
}

namespace {

std::size_t gauge_of(const base::coordinator_counts& stats, const char* name) {
  const auto at = stats.gauges.find(name);
  return at == stats.gauges.end() ? 0 : static_cast<std::size_t>(at->second);
}

} // namespace

void with_stats(
  gateway_context& context,
  const exchange_ptr& call,
  std::function<void(const base::coordinator_counts&)> go_on) {
  context.desk.stats(
    [call, go_on = std::move(go_on)](const result<base::coordinator_counts>& stats) {
      if (!stats)
        return call->answer(refusal_of(stats.error()));
      say_missing(
        *call,
        {gauge_of(*stats, client::missing_coordinators_gauge),
         gauge_of(*stats, client::missing_shards_gauge)});
      go_on(*stats);
    });
}

} // namespace codeq::http
