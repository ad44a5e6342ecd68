// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_json.hpp"
#include "http/routes/route_steps.hpp"

#include <array>
#include <string>
#include <utility>

/// The audit log, for admins.
namespace codeq::http {

namespace {

void write_command(base::json_writer& json, const audited_command& command) {
  json.begin_object()
    .field("at", base::to_rfc3339(command.at))
    .field("action", to_string(command.action))
    .field("subject", command.subject)
    .field("remote", command.remote)
    .field("tenantId", command.tenant)
    .field("queue", command.queue);
  if (command.task)
    json.field("taskId", to_string(*command.task));
  json.field("changed", command.changed)
    .field("detail", shown_text(command.detail))
    .end_object();
}

void answer_page(
  gateway_context& context, const exchange_ptr& call, const result<audit_page>& page) {
  if (!page)
    return call->answer(refusal_of(page.error()));
  say_missing(context, *call, page->missing);
  base::json_writer json;
  json.begin_object().begin_array("commands");
  for (const auto& command : page->commands)
    write_command(json, command);
  json.end_array();
  if (page->after)
    json.field("after", to_string(*page->after));
  json.end_object();
  call->answer(reply(200, json));
}

void show_audit(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  audit_filter filter;
  if (!call->by->sees_all_tenants)
    filter.tenant = call->by->tenant;
  filter.since = query.past("since", context.desk.now()).value_or(timestamp{});
  filter.limit =
    static_cast<std::size_t>(query.integer("limit").value_or(limits::audited_default));
  if (query.has("after")) {
    filter.after = parse_audit_place(query.text("after"));
    if (!filter.after)
      return call->answer(refusal_of(refuse_input(
        {}, describe_value("'after'", quote(query.text("after")), "what an earlier page said"))));
  }
  context.desk.audit(filter, [&context, call](const result<audit_page>& page) {
    answer_page(context, call, page);
  });
}

constexpr auto audit_parameters = std::to_array<input_field>({
  {.name = "since", .type = input_type::past, .zero_is_unset = true},
  {.name = "after"},
  {.name = "limit",
   .type = input_type::integer,
   .range = {1, static_cast<std::int64_t>(limits::audited_max)}},
});

constexpr std::array<route, 1> audit_table{{
  {.method = "GET",
   .pattern = "admin/audit",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_audit,
   .fields = {.query = audit_parameters}},
}};

} // namespace

std::span<const route> audit_routes() {
  return audit_table;
}

} // namespace codeq::http
