// SPDX-License-Identifier: Apache-2.0
#include "http/routes/router.hpp"

#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/server/replies.hpp"
#include "http/server/target.hpp"
#include "security/token_table.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace codeq::http {

namespace {

constexpr std::array<std::string_view, 2> base_path{"v1", "codeq"};

/// Takes the next segment of a pattern; empty at its end.
std::string_view next_segment(std::string_view& pattern) {
  auto end = pattern.find('/');
  auto segment = pattern.substr(0, end);
  pattern.remove_prefix(end == std::string_view::npos ? pattern.size() : end + 1);
  return segment;
}

bool has_base_path(const std::vector<std::string>& path) {
  return path.size() >= base_path.size() && path[0] == base_path[0] && path[1] == base_path[1];
}

/// True when the path fits; fills in what the pattern leaves open.
bool fits(
  std::string_view pattern, const std::vector<std::string>& path, std::vector<std::string>& open) {
  std::size_t at = 0;
  if (pattern.front() == '/')
    pattern.remove_prefix(1);
  else if (has_base_path(path))
    at = base_path.size();
  else
    return false;
  open.clear();
  while (!pattern.empty()) {
    auto wanted = next_segment(pattern);
    if (at == path.size())
      return false;
    if (wanted == ":")
      open.push_back(path[at]);
    else if (wanted != path[at])
      return false;
    ++at;
  }
  return at == path.size();
}

/// Number of segments of the paths that have the pattern.
std::size_t length_of(std::string_view pattern) {
  bool is_rooted = pattern.front() == '/';
  std::size_t length = is_rooted ? 0 : base_path.size();
  if (is_rooted)
    pattern.remove_prefix(1);
  for (; !pattern.empty(); ++length)
    next_segment(pattern);
  return length;
}

using routes_of_length = std::vector<const route*>;

std::vector<routes_of_length> index_routes() {
  std::vector<routes_of_length> index;
  for (auto routes : all_routes()) {
    for (const auto& r : routes) {
      auto length = length_of(r.pattern);
      if (index.size() <= length)
        index.resize(length + 1);
      index[length].push_back(&r);
    }
  }
  return index;
}

/// The routes whose paths have so many segments, in the order of `all_routes`.
const routes_of_length& routes_with(std::size_t length) {
  static const auto index = index_routes();
  static const routes_of_length none;
  return length < index.size() ? index[length] : none;
}

struct found_route {
  const route* at = nullptr;
  /// The methods of the path, separated by commas; empty when no route has it.
  std::string methods{};
};

void add_method(std::string& methods, std::string_view method) {
  methods.append(methods.empty() ? "" : ", ").append(method);
}

found_route find_route(exchange& call) {
  found_route found;
  std::string_view wanted = call.in.method == "HEAD" ? "GET" : std::string_view(call.in.method);
  std::vector<std::string> arguments;
  auto fewest = call.in.path.size();
  for (const auto* r : routes_with(call.in.path.size())) {
    if (!fits(r->pattern, call.in.path, arguments) || arguments.size() > fewest)
      continue;
    // A word that a pattern names is no argument of another one: no task has the id `claim`.
    if (arguments.size() < fewest)
      found = {};
    fewest = arguments.size();
    add_method(found.methods, r->method);
    if (r->method == "GET")
      add_method(found.methods, "HEAD");
    if (found.at || r->method != wanted)
      continue;
    found.at = r;
    call.arguments = arguments;
  }
  return found;
}

bool has_role(const caller& by, access who) {
  switch (who) {
  case access::open:
    return true;
  case access::any:
    return by.is_producer || by.is_worker || by.is_admin || by.is_reader;
  case access::read:
    return by.is_producer || by.is_admin || by.is_reader;
  case access::producer:
    return by.is_producer || by.is_admin;
  case access::worker:
    return by.is_worker || by.is_admin;
  case access::admin:
    return by.is_admin;
  case access::inspect:
    return by.is_admin || by.is_reader;
  case access::process:
    return by.is_admin && by.sees_all_tenants;
  case access::inspect_process:
    return by.sees_all_tenants;
  case access::metrics:
    return by.sees_metrics;
  }
  return false;
}

/// The roles that may use a route, in words.
std::string_view describe_roles(access who) {
  switch (who) {
  case access::open:
  case access::any:
    return "producer, worker, admin or reader";
  case access::read:
    return "producer, admin or reader";
  case access::producer:
    return "producer or admin";
  case access::worker:
    return "worker or admin";
  case access::admin:
  case access::process:
    return "admin";
  case access::inspect:
  case access::inspect_process:
    return "admin or reader";
  case access::metrics:
    return "metrics, admin or reader";
  }
  return {};
}

/// Refuses a caller without a role for the route.
response refuse_role(const caller& by, access who) {
  bool is_of_process =
    who == access::process || who == access::inspect_process || who == access::metrics;
  bool has_one_tenant = by.is_admin || (by.is_reader && who != access::process);
  auto roles = std::string(describe_roles(who));
  if (is_of_process && has_one_tenant)
    return refusal(
      403,
      "forbidden: the token is for tenant " + by.tenant + "; this route takes one of all tenants ("
        + roles + ")");
  auto own = by.bearer ? std::string(security::to_string(by.bearer->role)) : "another one";
  return refusal(403, "forbidden: the token's role is " + own + "; this route takes " + roles);
}

/// Why the caller may not use the route; nothing when it may.
std::optional<response> let_in(const route& r, const exchange& call) {
  if (r.who == access::open)
    return std::nullopt;
  // The server knows who calls; on the address of the metrics nobody has to say it.
  if (!call.by)
    return call.in.bearer.empty()
             ? no_valid_token(
                 "missing bearer token: send the header field 'Authorization: Bearer TOKEN'")
             : invalid_token();
  if (!has_role(*call.by, r.who))
    return refuse_role(*call.by, r.who);
  if (r.who == access::worker && !call.by->has_scope(r.scope))
    return refusal(403, "missing scope " + std::string(r.scope));
  return std::nullopt;
}

/// The fields of the request; refused if its route does not take all of them.
result<route_input> read_route_fields(const route& r, const request& in) {
  if (!in.repeated_parameter.empty())
    return refuse_input(
      {}, "query parameter " + quote_name({}, in.repeated_parameter) + " is given twice");
  auto query = input::read(in.query, r.fields.query);
  if (!query)
    return query.error();
  bool is_left_out = in.body.empty() && r.fields.need != body_need::required;
  if (is_left_out || r.fields.need == body_need::unread)
    return route_input{std::move(*query), {}};
  bool is_extended = !r.fields.extended.fields.empty() && query->has(extended_field.name);
  auto body = input::read(in.body, is_extended ? r.fields.extended : r.fields.body);
  if (!body)
    return body.error();
  return route_input{std::move(*query), std::move(*body)};
}

/// The refusal of a request whose fields the route does not take. HTTP takes no tenant: the token
/// decides.
error in_tenant(const error& reason, const exchange& call) {
  constexpr std::string_view beginning = "unknown query parameter 'tenant'";
  if (!call.by || !reason.context.starts_with(beginning))
    return reason;
  auto text = std::string(beginning) + "; HTTP acts in tenant " + quote(call.by->tenant);
  text += call.by->bearer ? " with this token; take a token of the tenant" : " without tokens";
  return {reason.code, std::move(text)};
}

/// How much the call counts against the caller's rate; one that is refused counts once.
std::uint64_t cost_of(const route& r, const result<route_input>& fields) {
  if (!fields || r.counted.empty())
    return 1;
  auto elements = fields->body.items(r.counted).size();
  return elements > 0 ? elements
                      : static_cast<std::uint64_t>(fields->body.integer(r.counted).value_or(1));
}

/// Counts the call against the caller's rate; the refusal when it is over.
std::optional<response>
take_rate(gateway_context& context, const route& r, const caller& by, std::uint64_t cost) {
  if (!context.limit || r.rate.empty())
    return std::nullopt;
  auto over = context.limit(by, r.rate, cost);
  return over ? std::optional(rate_exceeded(*over)) : std::nullopt;
}

/// The size of a request's body when a response repeats it in JSON strings.
std::size_t shown_bytes(std::string_view body) {
  auto escaped = std::count_if(body.begin(), body.end(), [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ';
  });
  return body.size() + static_cast<std::size_t>(escaped);
}

/// Reserves the bytes of the response to a request that changes something, since it cannot be
/// refused afterwards. Claims and repeated enqueues, whose responses have stored payloads, reserve
/// more. Errors: `overloaded`.
result<void> reserve_answer(gateway_context& context, const route& r, exchange& call) {
  if (r.method == "GET" || !call.by)
    return {};
  std::size_t items = 0;
  for (const auto& field : r.fields.body.fields)
    if (field.type == input_type::items)
      items += call.fields->body.items(field.name).size();
  auto bytes = shown_bytes(call.in.body) + (1 + items) * limits::http_item_bytes;
  call.share = context.desk.answers().open(call.by->tenant);
  if (bytes > limits::http_small_answer_bytes)
    return call.share->resize(bytes);
  call.share->force(bytes);
  return {};
}

/// The header field that is not of this machine; nothing when the request is.
std::optional<std::string> find_foreign(const gateway_context& context, const request& in) {
  if (!is_loopback_host(in.host))
    return "'Host' is " + quote(in.host);
  bool is_own_page =
    in.origin.empty() || is_loopback_origin(in.origin) || context.cors.names(in.origin);
  return is_own_page ? std::nullopt : std::optional("'Origin' is " + quote(in.origin));
}

/// The last segments of the routes that are one segment longer than the path, in order.
std::set<std::string_view> names_below(std::vector<std::string> path) {
  std::set<std::string_view> names;
  std::vector<std::string> arguments;
  path.emplace_back();
  for (auto routes : all_routes()) {
    for (const auto& r : routes) {
      auto name = r.pattern.substr(r.pattern.rfind('/') + 1);
      path.back() = name;
      if (name != ":" && fits(r.pattern, path, arguments))
        names.insert(name);
    }
  }
  return names;
}

/// True when a route has the path, whatever its method.
bool is_path(const std::vector<std::string>& path) {
  std::vector<std::string> arguments;
  const auto& routes = routes_with(path.size());
  return std::any_of(routes.begin(), routes.end(), [&](const route* r) {
    return fits(r->pattern, path, arguments);
  });
}

/// The path of a route which the given one is but for the base path or `admin`; empty if none is.
std::string path_meant(std::vector<std::string> path) {
  if (!has_base_path(path))
    for (std::size_t i = 0; i < base_path.size(); ++i)
      path.emplace(path.begin() + static_cast<std::ptrdiff_t>(i), base_path[i]);
  if (!is_path(path))
    path.emplace(path.begin() + std::ssize(base_path), "admin");
  std::string text;
  for (const auto& segment : path)
    text.append("/").append(segment);
  return is_path(path) ? text : "";
}

/// A hint for requests whose path or method no route has: which route the client means.
struct route_hint {
  std::string_view method;
  std::string_view pattern;
  std::string_view text;
};

constexpr auto route_hints = std::to_array<route_hint>({
  {"POST", "tasks/:/redrive", "POST /v1/codeq/admin/dead/redrive with 'ids' redrives tasks"},
  {"POST", "schedules", "PUT /v1/codeq/schedules/NAME makes one"},
  {"PATCH", "admin/queues/:/settings", "PUT keeps the settings that it does not name"},
  {"GET", "/queues", "the dashboard is at /, and this page of it at /#/queues"},
  {"GET", "/dashboard", "the dashboard is at /"},
  {"GET", "/ui", "the dashboard is at /"},
});

/// The hint for the request, followed by `end`; empty when there is none.
std::string hint_for(const request& in, std::string_view end) {
  std::vector<std::string> arguments;
  for (const auto& hint : route_hints)
    if (hint.method == in.method && fits(hint.pattern, in.path, arguments))
      return std::string(hint.text).append(end);
  return {};
}

/// Refuses a path that no route has; names the one that is meant, or those that differ from it in
/// the last segment.
response refuse_path(const request& in) {
  auto text = "not found: no such route; " + hint_for(in, "; ");
  auto path = in.path;
  if (auto meant = path_meant(path); !meant.empty())
    return refusal(
      404, text + "did you mean " + quote(meant) + "? /openapi.json lists all routes");
  if (path.size() > base_path.size()) {
    path.pop_back();
    std::string names;
    for (auto name : names_below(std::move(path)))
      names.append(names.empty() ? "" : ", ").append(name);
    if (!names.empty())
      text += "the last part may be " + names + "; ";
  }
  return refusal(404, text + "/openapi.json lists all routes");
}

/// Names the action that a client means by DELETE; empty when there is none.
std::string_view meant_by_delete(const request& in) {
  constexpr std::array<std::string_view, 2> actions{"cancel", "purge"};
  if (in.method != "DELETE")
    return {};
  auto names = names_below(in.path);
  for (auto action : actions)
    if (names.contains(action))
      return action;
  return {};
}

/// Refuses a method that the path does not have.
response refuse_method(const request& in, const std::string& methods) {
  auto text = "method not allowed: this path takes " + methods;
  if (auto action = meant_by_delete(in); !action.empty())
    text.append("; to ").append(action).append(" it, POST to this path and /").append(action);
  if (auto hint = hint_for(in, ""); !hint.empty())
    text.append("; ").append(hint);
  if (in.method == "OPTIONS" && !in.preflight_method.empty())
    text += "; 'Origin' is " + quote(in.origin) + ", which --cors-origin does not name";
  auto answer = refusal(405, text);
  answer.fields.emplace_back("Allow", methods);
  return answer;
}

bool is_preflight(const gateway_context& context, const request& in) {
  return in.method == "OPTIONS" && !in.preflight_method.empty() && context.cors.allows(in.origin);
}

} // namespace

std::vector<std::span<const route>> all_routes() {
  return {
    enqueue_routes(),
    claim_routes(),
    lease_routes(),
    task_routes(),
    queue_routes(),
    admin_routes(),
    cluster_routes(),
    audit_routes(),
    dead_routes(),
    operation_routes(),
    subscription_routes(),
    policy_routes(),
    schedule_routes(),
    limit_routes(),
    process_routes(),
    page_routes()};
}

bool may_use(const route& r, const caller& by) {
  return has_role(by, r.who) && (r.who != access::worker || by.has_scope(r.scope));
}

void dispatch(gateway_context& context, const exchange_ptr& call) {
  // Without tokens a page from anywhere could otherwise have a browser here do everything.
  auto foreign = context.is_loopback_only ? find_foreign(context, call->in) : std::nullopt;
  if (foreign)
    return call->answer(
      refusal(403, "only loopback hosts and origins may call with --dev: " + *foreign));
  auto found = find_route(*call);
  if (found.methods.empty())
    return call->answer(refuse_path(call->in));
  if (is_preflight(context, call->in))
    return call->answer(cors_policy::preflight(found.methods));
  if (!found.at)
    return call->answer(refuse_method(call->in, found.methods));
  const auto& route = *found.at;
  if (auto refused = let_in(route, *call))
    return call->answer(std::move(*refused));
  auto fields = read_route_fields(route, call->in);
  if (call->by)
    if (auto refused = take_rate(context, route, *call->by, cost_of(route, fields)))
      return call->answer(std::move(*refused));
  if (!fields)
    return call->answer(refusal_of(in_tenant(fields.error(), *call)));
  call->fields = std::make_shared<const route_input>(std::move(*fields));
  if (auto ok = reserve_answer(context, route, *call); !ok)
    return call->answer(refusal_of(ok.error()));
  route.run(context, call);
}

} // namespace codeq::http
