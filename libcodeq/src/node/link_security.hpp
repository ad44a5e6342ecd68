// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/result.hpp"

#include "security/tls_context.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace codeq::node {

/// Credentials of links to coordinators, loaded from files.
struct link_security {
  /// Returns the token for a new connection, empty for none. Reads the token file again, so that a
  /// token can be replaced before it expires; a file that cannot be used leaves the earlier token.
  /// A copy is used by one thread.
  std::function<std::string()> token;
  /// Null: without TLS.
  std::shared_ptr<security::tls_source> tls;
};

/// Errors: `invalid_argument` when there is no address, or for one that is not `host:port`.
[[nodiscard]] result<void> check_coordinators(const std::vector<std::string>& coordinators);

/// Reads the files of the credentials. Errors: `invalid_argument` for credentials that do not fit
/// together, or that would send a token unencrypted over a network; `unavailable` for files that
/// cannot be used.
[[nodiscard]] result<link_security>
open_credentials(const credentials& access, const std::vector<std::string>& coordinators);

} // namespace codeq::node
