// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/caller.hpp"
#include "security/rate_limiter.hpp"
#include "security/token_source.hpp"

#include <memory>

/// Puts the tokens in force and their rates before the HTTP gateway.
namespace codeq::node {

/// Takes whoever bears a token in for what it allows; an admin of all tenants acts in tenant
/// `default`, since no route names another one. Null `tokens` is a single-user setup.
[[nodiscard]] http::authenticate authenticate_by(std::shared_ptr<security::token_source> tokens);

/// Counts calls against the buckets that the token has at the node port as well.
[[nodiscard]] http::limit_rate limit_by(std::shared_ptr<security::rate_limiter> limiter);

} // namespace codeq::node
