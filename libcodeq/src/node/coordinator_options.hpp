// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include "security/tls_context.hpp"

#include <string>

namespace codeq::node {

/// Checks the bounds of single options. Errors: `invalid_argument`.
[[nodiscard]] result<void> check(const coordinator_node_options& options);

/// Checks that the options allow no unauthenticated access. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_access(const coordinator_node_options& options);

/// The address and the name of a coordinator in its cluster.
[[nodiscard]] std::string address_in_cluster(const coordinator_node_options& options);
[[nodiscard]] std::string name_in_cluster(const coordinator_node_options& options);

[[nodiscard]] bool has_tls(const coordinator_node_options& options);

/// TLS files of the gateway; empty without TLS.
[[nodiscard]] security::tls_files http_files(const coordinator_node_options& options);

/// Raises the process's limit of open files so that all connections and the store's files fit.
/// Where the system does not allow that, lowers the limits of connections and logs it.
void fit_connections(coordinator_node_options& options);

} // namespace codeq::node
