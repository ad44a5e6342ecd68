// SPDX-License-Identifier: Apache-2.0
#include "http/routes/router.hpp"

#include "http/server/replies.hpp"
#include "http/server/target.hpp"

#include <array>
#include <string>

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

struct found_route {
  const route* at = nullptr;
  /// The path is known under another method.
  bool other_method = false;
};

found_route find_route(exchange& call) {
  found_route found;
  for (auto routes :
       {enqueue_routes(),
        claim_routes(),
        lease_routes(),
        task_routes(),
        queue_routes(),
        admin_routes(),
        process_routes()}) {
    for (const auto& r : routes) {
      if (!fits(r.pattern, call.in.path, call.arguments))
        continue;
      if (r.method == call.in.method) {
        found.at = &r;
        return found;
      }
      found.other_method = true;
    }
  }
  return found;
}

bool has_role(const caller& by, access who) {
  switch (who) {
  case access::open:
  case access::any:
    return true;
  case access::producer:
    return by.is_producer || by.is_admin;
  case access::worker:
    return by.is_worker || by.is_admin;
  case access::admin:
    return by.is_admin;
  case access::process:
    return by.sees_all_tenants;
  }
  return false;
}

/// Why the caller may not use the route; nothing when it may.
std::optional<response> let_in(gateway_context& context, const route& r, exchange& call) {
  if (r.who == access::open)
    return std::nullopt;
  // On the address of the metrics nobody has to say who they are.
  if (!call.by)
    call.by = context.who(call.in.bearer);
  if (!call.by) {
    auto answer = refusal(401, call.in.bearer.empty() ? "missing bearer token" : "invalid token");
    answer.fields.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  if (!has_role(*call.by, r.who))
    return refusal(403, "forbidden");
  if (r.who == access::worker && !call.by->has_scope(r.scope))
    return refusal(403, "missing scope " + std::string(r.scope));
  return r.rate.empty() ? std::nullopt : take_rate(context, *call.by, r.rate, 1);
}

bool is_foreign(const request& in) {
  return !is_loopback_host(in.host) || (!in.origin.empty() && !is_loopback_origin(in.origin));
}

} // namespace

std::optional<response> take_rate(
  gateway_context& context, const caller& by, std::string_view operation, std::uint64_t count) {
  if (!context.limit || count == 0)
    return std::nullopt;
  auto over = context.limit(by, operation, count);
  return over ? std::optional(rate_exceeded(*over)) : std::nullopt;
}

void dispatch(gateway_context& context, const exchange_ptr& call) {
  // Without tokens a page from anywhere could otherwise have a browser here do everything.
  if (context.is_loopback_only && is_foreign(call->in))
    return call->answer(refusal(403, "only loopback hosts and origins may call with --dev"));
  auto found = find_route(*call);
  if (!found.at)
    return call->answer(
      found.other_method ? refusal(405, "method not allowed") : refusal(404, "not found"));
  if (auto refused = let_in(context, *found.at, *call))
    return call->answer(std::move(*refused));
  found.at->run(context, call);
}

} // namespace codeq::http
