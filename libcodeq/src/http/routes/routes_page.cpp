// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "http/dashboard/pages.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"
#include "security/token_table.hpp"

#include <algorithm>
#include <array>

/// The dashboard: its files, and what its pages ask beside the other routes.
namespace codeq::http {

namespace {

/// Scripts and styles come from this server alone, and no other site may frame the pages.
constexpr auto content_policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// True when the client has the file, as `If-None-Match` says.
bool is_known(std::string_view etags, std::string_view etag) {
  return etags == "*" || etags.find(etag) != std::string_view::npos;
}

void answer_file(const exchange_ptr& call, const page_file& file) {
  response answer;
  answer.content_type = std::string(file.content_type);
  // A browser asks each time whether its copy is still the one of the program that runs now.
  answer.fields = {
    {"Cache-Control", "no-cache"},
    {"Content-Security-Policy", content_policy},
    {"ETag", std::string(file.etag)},
    {"Referrer-Policy", "no-referrer"},
    {"Vary", "Accept-Encoding"},
    {"X-Content-Type-Options", "nosniff"},
  };
  if (is_known(call->in.known_etag, file.etag)) {
    answer.status = 304;
    return call->answer(std::move(answer));
  }
  if (call->in.accepts_gzip)
    answer.fields.emplace_back("Content-Encoding", "gzip");
  answer.body = std::string(call->in.accepts_gzip ? file.zipped : file.bytes);
  call->answer(std::move(answer));
}

void serve_file(const exchange_ptr& call, std::string_view name) {
  auto files = page_files();
  auto has_name = [&](const page_file& file) { return file.name == name; };
  auto at = std::find_if(files.begin(), files.end(), has_name);
  if (at == files.end())
    return call->answer(refusal(404, "not found: the dashboard has no such file"));
  answer_file(call, *at);
}

void serve_index(gateway_context&, const exchange_ptr& call) {
  serve_file(call, "index.html");
}

void serve_part(gateway_context&, const exchange_ptr& call) {
  serve_file(call, call->arguments[0]);
}

std::string_view role_of(const caller& by) {
  if (by.bearer)
    return security::to_string(by.bearer->role);
  return by.is_admin ? "admin" : "none";
}

/// The routes that the caller may use; a page shows nothing that takes another one.
void write_routes(base::json_writer& json, const caller& by) {
  json.begin_array("routes");
  for (auto routes : all_routes())
    for (const auto& r : routes)
      if (may_use(r, by))
        json.text(std::string(r.method).append(" ").append(r.pattern));
  json.end_array();
}

void show_caller(gateway_context& context, const exchange_ptr& call) {
  const auto& by = *call->by;
  base::json_writer json;
  json.begin_object()
    .field("subject", by.subject)
    .field("tenantId", by.tenant)
    .field("role", role_of(by))
    .field("allTenants", by.sees_all_tenants)
    .field("withoutToken", by.bearer == nullptr)
    .field("inCluster", context.desk.is_in_cluster())
    .field("now", base::to_rfc3339(context.desk.now()));
  if (by.bearer && by.bearer->expires)
    json.field("expiresAt", base::to_rfc3339(*by.bearer->expires));
  if (!by.all_queues) {
    json.begin_array("queues");
    for (const auto& queue : by.queues)
      json.text(queue);
    json.end_array();
  }
  write_routes(json, by);
  json.end_object();
  call->answer(reply(200, json));
}

/// In the order of the bits of `live_parts`.
constexpr auto part_names = std::to_array<std::string_view>({"queues", "workers"});

/// Errors: `invalid_argument`.
result<unsigned> read_parts(std::string_view list) {
  unsigned parts = 0;
  while (!list.empty()) {
    auto name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    const auto* at = std::find(part_names.begin(), part_names.end(), name);
    if (at == part_names.end())
      return refuse_input(
        {}, describe_value("'topics'", quote(std::string(name)), "'queues' or 'workers'"));
    parts |= 1u << (at - part_names.begin());
  }
  return parts == 0 ? unsigned{live_queues} : parts;
}

void go_live(gateway_context& context, const exchange_ptr& call) {
  auto parts = read_parts(call->fields->query.text("topics"));
  if (!parts)
    return call->answer(refusal_of(parts.error()));
  if (call->in.method == "HEAD")
    return call->answer(event_answer(std::make_shared<event_stream>()));
  auto events = context.dashboard.subscribe(call->by, call->in.bearer, *parts);
  if (!events)
    return call->answer(refusal_of(events.error()));
  call->answer(event_answer(std::move(*events)));
}

/// Tells the progress of a task that runs, until it ends.
void follow_task(gateway_context& context, const exchange_ptr& call) {
  auto follow = [&context, call](const result<task_detail>& found) {
    if (!found)
      return call->answer(refusal_of(found.error()));
    if (call->in.method == "HEAD")
      return call->answer(event_answer(std::make_shared<event_stream>()));
    auto events = context.dashboard.follow(call->by, call->in.bearer, found->status.id);
    if (!events)
      return call->answer(refusal_of(events.error()));
    call->answer(event_answer(std::move(*events)));
  };
  find_own(context, call, call->arguments[0], false, std::move(follow));
}

constexpr auto span_names = std::to_array<std::string_view>({"hour", "day"});

void show_queue_history(gateway_context& context, const exchange_ptr& call) {
  const auto& query = call->fields->query;
  queue_address address{call->by->tenant, query.text("queue")};
  auto span = static_cast<history_span>(query.choice("span").value_or(0));
  base::json_writer json;
  context.dashboard.history().write(json, address, span);
  call->answer(reply(200, json));
}

constexpr auto live_parameters = std::to_array<input_field>({{.name = "topics"}});

constexpr auto history_parameters = std::to_array<input_field>({
  {.name = "span", .type = input_type::choice, .choices = span_names},
  queue_filter_field,
  command_filter_field,
});

constexpr std::array<route, 6> page_table{{
  {.method = "GET", .pattern = "/", .who = access::open, .run = &serve_index},
  {.method = "GET", .pattern = "/ui/:", .who = access::open, .run = &serve_part},
  {.method = "GET", .pattern = "me", .who = access::any, .run = &show_caller},
  {.method = "GET", .pattern = "tasks/:/progress", .who = access::any, .run = &follow_task},
  {.method = "GET",
   .pattern = "admin/live",
   .who = access::inspect,
   .rate = "admin",
   .run = &go_live,
   .fields = {.query = live_parameters}},
  {.method = "GET",
   .pattern = "admin/history",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_queue_history,
   .fields = {.query = history_parameters}},
}};

} // namespace

std::span<const route> page_routes() {
  return page_table;
}

} // namespace codeq::http
