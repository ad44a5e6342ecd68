// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "etcd/client.hpp"

#include <cstddef>
#include <string>

/// Reads of etcd that block until it answers. Errors: as `etcd::client::read`.
namespace codeq::node {

[[nodiscard]] result<etcd::range_answer>
read_range(etcd::client& etcd, const etcd::key_range& what);

/// Number of other clusters that are named.
inline constexpr std::size_t clusters_named_max = 5;

/// Names the clusters of an etcd but one, such as "jobs, mail"; empty: there are none.
[[nodiscard]] result<std::string> other_clusters(etcd::client& etcd, const std::string& but);

} // namespace codeq::node
