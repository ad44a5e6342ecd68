// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "client/dead_walk.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/bulk_walk.hpp"
#include "http/routes/route_steps.hpp"
#include "http/routes/task_list.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

/// Dead tasks: lists and summaries, for readers, too; redrives and purges, for admins.
namespace codeq::http {

namespace {

/// The filter that a query or a body has.
dead_filter read_filter(gateway_context& context, const exchange& call, const input& from) {
  dead_filter filter;
  filter.tenant = call.by->tenant;
  filter.queue = from.text("queue");
  filter.group = from.text("group");
  filter.error = from.text("error");
  auto now = context.desk.now();
  if (auto age = from.period(newer_field.name))
    filter.died.since = now - *age;
  if (auto age = from.period(older_field.name))
    filter.died.until = now - *age + duration{1};
  return filter;
}

constexpr auto filter_names =
  std::to_array<std::string_view>({"queue", "group", "error", "olderThan", "newerThan"});

/// Errors: `invalid_argument` for a list of ids with what only a filter may have.
result<void> check_ids(const input& body) {
  std::vector<std::string_view> others(filter_names.begin(), filter_names.end());
  others.insert(others.end(), {"all", "dryRun", "limit", "rate"});
  for (auto name : others)
    if (body.has(name))
      return refuse_input(
        {}, "'" + std::string(name) + "' and 'ids' are both given; give one of them");
  return {};
}

/// Changes the dead tasks of a list of ids, or else of a filter.
void change_dead(gateway_context& context, const exchange_ptr& call, dead_change what) {
  const auto& body = call->fields->body;
  if (body.has("ids")) {
    if (auto ok = check_ids(body); !ok)
      return call->answer(refusal_of(ok.error()));
    auto change = what == dead_change::redrive ? task_change::redrive : task_change::purge;
    return change_each(context, call, body.texts("ids"), change);
  }
  bool is_dry_run = body.flag("dryRun").value_or(false);
  bool has_filter = std::any_of(
    filter_names.begin(), filter_names.end(), [&](auto name) { return body.has(name); });
  if (auto ok = check_whole(body, has_filter, what == dead_change::purge && !is_dry_run); !ok)
    return call->answer(refusal_of(ok.error()));
  auto filter = read_filter(context, *call, body);
  filter.limit = static_cast<std::uint64_t>(body.integer("limit").value_or(0));
  filter.rate = static_cast<std::uint64_t>(body.integer("rate").value_or(0));
  filter.is_dry_run = is_dry_run;
  change_all_dead(context, call, filter, what);
}

void redrive(gateway_context& context, const exchange_ptr& call) {
  change_dead(context, call, dead_change::redrive);
}

void purge_dead(gateway_context& context, const exchange_ptr& call) {
  change_dead(context, call, dead_change::purge);
}

void list_dead(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  auto filter = client::filter_of(read_filter(context, *call, query));
  filter.is_blocking = query.flag("blocking").value_or(false);
  list_page(context, call, std::move(filter));
}

void summarize(gateway_context& context, const exchange_ptr& call) {
  auto queue = queue_listed(*call->by, call->fields->query.text("queue"));
  if (!queue)
    return call->answer(refusal_of(queue.error()));
  auto filter = read_filter(context, *call, call->fields->query);
  filter.queue = std::move(*queue);
  auto newest = static_cast<std::size_t>(call->fields->query.integer("newest").value_or(0));
  summarize_dead(context, call, filter, newest);
}

constexpr auto dead_parameters = std::to_array<input_field>({
  queue_filter_field,
  command_filter_field,
  group_filter_field,
  error_filter_field,
  older_field,
  newer_field,
  {.name = "blocking", .type = input_type::flag},
  order_field,
  limit_field,
  after_field,
});

constexpr std::int64_t summarized_newest_max = 100'000;

constexpr auto summary_parameters = std::to_array<input_field>({
  queue_filter_field,
  command_filter_field,
  group_filter_field,
  error_filter_field,
  older_field,
  newer_field,
  {.name = "newest", .type = input_type::integer, .range = {1, summarized_newest_max}},
});

constexpr auto change_fields = std::to_array<input_field>({
  {.name = "ids", .type = input_type::texts, .range = at_most(limits::http_bulk_ids_max)},
  all_field,
  queue_changed_field,
  command_changed_field,
  group_filter_field,
  error_filter_field,
  older_field,
  newer_field,
  {.name = "dryRun", .type = input_type::flag},
  {.name = "limit", .type = input_type::integer},
  {.name = "rate", .type = input_type::integer, .range = at_most(limits::bulk_rate_max)},
});

constexpr std::array<route, 4> dead_table{{
  {.method = "GET",
   .pattern = "admin/dead",
   .who = access::inspect,
   .rate = "admin",
   .run = &list_dead,
   .fields = {.query = dead_parameters}},
  {.method = "GET",
   .pattern = "admin/dead/summary",
   .who = access::inspect,
   .rate = "admin",
   .run = &summarize,
   .fields = {.query = summary_parameters}},
  {.method = "POST",
   .pattern = "admin/dead/redrive",
   .who = access::admin,
   .rate = "admin",
   .run = &redrive,
   .fields = {.body = {change_fields}}},
  {.method = "POST",
   .pattern = "admin/dead/purge",
   .who = access::admin,
   .rate = "admin",
   .run = &purge_dead,
   .fields = {.body = {change_fields}}},
}};

} // namespace

std::span<const route> dead_routes() {
  return dead_table;
}

} // namespace codeq::http
