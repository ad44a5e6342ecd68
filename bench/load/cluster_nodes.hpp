// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"

#include "load/processes.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace codeq::bench {

/// Name of a coordinator of a cluster, and its address of loopback.
[[nodiscard]] std::string node_name(std::size_t number);
[[nodiscard]] std::string node_host(std::size_t number);

/// A port that nobody listens on at present. Errors: `unavailable`.
[[nodiscard]] result<std::uint16_t> free_port(const std::string& host);

/// An etcd of one member in a directory of its own, and the URL of its clients.
struct etcd_process {
  child_process process;
  std::string url;
};

/// Errors: `unavailable` when etcd is not installed, or there is no port.
[[nodiscard]] result<etcd_process> start_etcd(const std::filesystem::path& directory);

/// Waits until the state of the cluster is as wanted. Errors: `timeout` with the steps that shards
/// wait for.
[[nodiscard]] result<cluster_status> await_cluster(
  operator_client& client, const std::function<bool(const cluster_status&)>& is_wanted);

/// Whether each shard is served, has all its copies in sync and waits for no step, and its primary
/// is one of these coordinators, of which none serves many more than another.
[[nodiscard]] bool is_settled(const cluster_status& status, std::size_t coordinators);

} // namespace codeq::bench
