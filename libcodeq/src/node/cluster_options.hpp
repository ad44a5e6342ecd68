// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include <string>

namespace codeq::node {

/// Checks the options of a cluster. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_cluster(const coordinator_node_options& options);

/// The address and the name of a coordinator in its cluster.
[[nodiscard]] std::string address_in_cluster(const coordinator_node_options& options);
[[nodiscard]] std::string name_in_cluster(const coordinator_node_options& options);

} // namespace codeq::node
