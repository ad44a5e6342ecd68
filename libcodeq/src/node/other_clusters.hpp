// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "etcd/client.hpp"

#include <cstddef>
#include <string>

namespace codeq::node {

/// Number of other clusters that are named.
inline constexpr std::size_t clusters_named_max = 5;

/// Names the clusters of an etcd but one, such as "jobs, mail"; empty: there are none. Waits for
/// etcd. Errors: as `etcd::client::read`.
[[nodiscard]] result<std::string> other_clusters(etcd::client& etcd, const std::string& but);

} // namespace codeq::node
