// SPDX-License-Identifier: Apache-2.0
#include "node/http_access.hpp"

#include "base/clock.hpp"
#include "base/wall_clock.hpp"

#include <chrono>
#include <utility>

namespace codeq::node {

namespace {

using security::rate_scope;
using security::role;

std::shared_ptr<const http::caller> caller_of(std::shared_ptr<const security::principal> who) {
  http::caller by{who->subject, who->is_of_all_tenants() ? "default" : who->tenant};
  by.is_producer = who->may_produce();
  by.is_worker = who->may_work();
  by.is_admin = who->may_operate();
  by.is_reader = who->role == role::reader;
  by.sees_all_tenants = who->may_inspect() && who->is_of_all_tenants();
  by.sees_metrics = by.sees_all_tenants || who->role == role::metrics;
  by.scopes = who->scopes;
  by.all_queues = !who->may_work() || who->claims_from_all();
  for (const auto& queue : who->queues)
    if (queue != security::everything)
      by.queues.push_back(queue);
  by.bearer = std::move(who);
  return std::make_shared<const http::caller>(std::move(by));
}

/// The rate scope that calls of a route are counted in.
rate_scope scope_of(std::string_view operation) {
  if (operation == "claim")
    return rate_scope::claim;
  return operation == "admin" ? rate_scope::admin : rate_scope::producer;
}

std::string name_of(rate_scope scope) {
  switch (scope) {
  case rate_scope::producer:
    return "producer";
  case rate_scope::claim:
    return "claim";
  case rate_scope::admin:
    return "admin";
  }
  return "unknown";
}

} // namespace

http::authenticate authenticate_by(std::shared_ptr<const security::authenticator> access) {
  if (!access)
    return [user = http::single_user()](std::string_view) { return user; };
  return [access = std::move(access)](std::string_view bearer) {
    auto who = access->authenticate(bearer);
    return who ? caller_of(std::move(who)) : nullptr;
  };
}

http::find_callers callers_by(std::shared_ptr<security::token_source> tokens) {
  if (!tokens)
    return {};
  return [tokens = std::move(tokens)](const std::string& tenant, const std::string& subject) {
    std::vector<std::shared_ptr<const http::caller>> callers;
    for (auto& who : tokens->current()->find_subject(subject))
      if (auto by = caller_of(std::move(who));
          by->tenant == tenant && !by->bearer->is_expired(base::wall_now()))
        callers.push_back(std::move(by));
    return callers;
  };
}

http::limit_rate limit_by(
  std::shared_ptr<security::rate_limiter> limiter, std::shared_ptr<observe::limit_meter> meter) {
  return [limiter = std::move(limiter), meter = std::move(meter)](
           const http::caller& by,
           std::string_view operation,
           std::uint64_t count) -> std::unique_ptr<http::rate_refusal> {
    if (!by.bearer)
      return nullptr;
    auto scope = scope_of(operation);
    auto wait =
      limiter->take(*by.bearer, scope, count, base::system_clock(timestamp{}).now().steady);
    if (wait == duration{0})
      return nullptr;
    meter->note({"token_rate", by.bearer->rate_of(scope).per_second, "tenant", by.tenant});
    auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    return std::make_unique<http::rate_refusal>(
      name_of(scope), std::string(operation), static_cast<unsigned>(seconds));
  };
}

} // namespace codeq::node
