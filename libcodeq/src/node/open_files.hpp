// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"

namespace codeq::node {

/// Raises the process's limit of open files so that all connections and the store's files fit.
/// Where the system does not allow that, lowers the limits of connections and logs it.
void fit_connections(coordinator_node_options& options);

} // namespace codeq::node
