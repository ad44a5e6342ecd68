// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_access.hpp"

#include "base/errors.hpp"
#include "base/wall_clock.hpp"
#include "node/coordinator_options.hpp"
#include "node/http_access.hpp"
#include "node/token_warnings.hpp"
#include "security/token_file.hpp"

#include <utility>

namespace codeq::node {

using base::wrong;

namespace {

/// Checks the token that is shown to the other coordinators, which accept what this one accepts.
/// With another one the coordinator would get copies and could never take part.
result<void> check_cluster_token(
  const coordinator_node_options& options, const security::authenticator& access) {
  const auto& file = options.cluster.token_file;
  if (options.cluster.name.empty() || file.empty())
    return {};
  auto token = security::read_bearer(file);
  if (!token)
    return wrong("--cluster-token-file " + token.error().context);
  const auto who = access.authenticate(*token);
  const auto option = "--cluster-token-file: the token of " + file.string();
  const std::string needed = "; it has to be an admin's of tenant *";
  // The keys of a JWT may not be known yet.
  if (!who && options.jwt.keys.empty())
    return wrong(
      option + " is not in " + options.tokens.string() + ", the file of --tokens, or has expired"
      + needed);
  if (!who || (who->may_operate() && who->is_of_all_tenants()))
    return {};
  return wrong(
    option + " has the role " + std::string(to_string(who->role)) + " for tenant " + who->tenant
    + needed);
}

} // namespace

result<void> coordinator_access::open_tokens(const coordinator_node_options& options) {
  if (options.development)
    return {};
  security::authenticator::options a;
  a.now = &base::wall_now;
  a.on_refused = refusal_log();
  if (!options.tokens.empty()) {
    auto source = security::token_source::open(options.tokens);
    if (!source)
      return error{source.error().code, "--tokens " + source.error().context};
    tokens = std::move(*source);
    a.tokens = tokens;
    warn_of_readers(options.tokens);
  }
  if (!options.jwt.keys.empty()) {
    auto rules = jwt_rules_of(options.jwt);
    if (!rules)
      return rules.error();
    auto keys = key_refresher::start(options.jwt);
    if (!keys)
      return keys.error();
    jwt_keys = std::move(*keys);
    a.rules = std::move(*rules);
    a.keys = jwt_keys->keys();
  }
  access = std::make_shared<const security::authenticator>(std::move(a));
  return check_cluster_token(options, *access);
}

result<void> coordinator_access::open(const coordinator_node_options& options) {
  if (auto ok = open_tokens(options); !ok)
    return ok;
  if (auto files = http_files(options); !files.certificate.empty() || !files.key.empty()) {
    auto source = security::tls_source::open(std::move(files), security::tls_side::server);
    if (!source)
      return source.error();
    http_tls = std::move(*source);
  }
  if (!has_tls(options))
    return {};
  auto source = security::tls_source::open(
    {options.tls_certificate,
     options.tls_key,
     options.tls_authority,
     options.tls_require_client_certificate},
    security::tls_side::server);
  if (!source)
    return source.error();
  tls = std::move(*source);
  return {};
}

coordinator_access::reloaded coordinator_access::reload() {
  result<void> outcome;
  auto note = [&](const result<void>& reloaded) {
    if (outcome)
      outcome = reloaded;
    else if (!reloaded)
      outcome =
        error{reloaded.error().code, outcome.error().context + "; " + reloaded.error().context};
    return reloaded.has_value();
  };
  for (const auto& source : {tls, http_tls})
    if (source)
      static_cast<void>(note(source->reload()));
  if (jwt_keys)
    static_cast<void>(note(jwt_keys->refresh()));
  const auto is_new = tokens && note(tokens->reload());
  return {outcome, is_new};
}

} // namespace codeq::node
