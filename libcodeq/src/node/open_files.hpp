// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"

namespace codeq::node {

/// Raises the process' limit of open files so that all connections fit beside the store's files;
/// where the system does not allow that, lowers the numbers of connections and says so in the log.
void fit_connections(coordinator_node_options& options);

} // namespace codeq::node
