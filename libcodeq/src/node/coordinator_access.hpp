// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include "node/jwt_access.hpp"
#include "security/authenticator.hpp"
#include "security/rate_limiter.hpp"
#include "security/tls_context.hpp"
#include "security/token_source.hpp"

#include <memory>

namespace codeq::node {

/// Who may use a coordinator: its tokens, keys of JWTs and certificates.
class coordinator_access {
public:
  /// Reads tokens, keys and certificates. Errors: of their files; `invalid_argument` when the token
  /// for the other coordinators of a cluster is not that of an admin of all tenants.
  [[nodiscard]] result<void> open(const coordinator_node_options& options);

  struct reloaded {
    result<void> how;
    /// There are tokens, and they were read.
    bool is_new = false;
  };

  /// Reads them again; a file that cannot be used leaves its old content in force.
  [[nodiscard]] reloaded reload();

  /// Null without a token file.
  std::shared_ptr<security::token_source> tokens;
  /// Null without JWTs.
  std::unique_ptr<key_refresher> jwt_keys;
  /// Null in a single-user setup, where every client has all rights.
  std::shared_ptr<const security::authenticator> access;
  std::shared_ptr<security::rate_limiter> limiter = std::make_shared<security::rate_limiter>();
  /// Null without TLS.
  std::shared_ptr<security::tls_source> tls;
  std::shared_ptr<security::tls_source> http_tls;

private:
  /// As `open`, for tokens and the keys of JWTs.
  [[nodiscard]] result<void> open_tokens(const coordinator_node_options& options);
};

} // namespace codeq::node
