// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include "security/tls_context.hpp"

namespace codeq::node {

/// Checks what is in bounds by itself. Errors: `invalid_argument`.
[[nodiscard]] result<void> check(const coordinator_node_options& options);

/// Checks that nobody can come in who does not belong. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_access(const coordinator_node_options& options);

[[nodiscard]] bool has_tls(const coordinator_node_options& options);

/// What the gateway shows; empty without TLS.
[[nodiscard]] security::tls_files http_files(const coordinator_node_options& options);

} // namespace codeq::node
