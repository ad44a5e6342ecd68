// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/caller.hpp"
#include "observe/limit_meter.hpp"
#include "security/authenticator.hpp"
#include "security/rate_limiter.hpp"

#include <memory>

/// Authentication and rate limits of the HTTP gateway.
namespace codeq::node {

/// Authenticates callers by bearer token. An admin of all tenants acts in tenant `default`, since
/// no route names another tenant. Null `access`: single-user setup.
[[nodiscard]] http::authenticate
authenticate_by(std::shared_ptr<const security::authenticator> access);

/// Finds the callers of the token file's current tokens by tenant and subject. Null `tokens`: an
/// empty function.
[[nodiscard]] http::find_callers callers_by(std::shared_ptr<security::token_source> tokens);

/// Applies the token buckets, which a token shares with its connections to the node port.
[[nodiscard]] http::limit_rate limit_by(
  std::shared_ptr<security::rate_limiter> limiter, std::shared_ptr<observe::limit_meter> meter);

} // namespace codeq::node
