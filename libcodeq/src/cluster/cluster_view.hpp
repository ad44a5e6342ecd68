// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"

#include "cluster/catalogue.hpp"
#include "replication/membership.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace codeq::cluster {

/// The state of a cluster as etcd has told it; nothing is known of the positions of copies, and no
/// shard counts as served. Pure. `node`: the coordinator that answers.
[[nodiscard]] cluster_status
view_of(const catalogue& known, const std::string& cluster, const std::string& node);

/// The number of changes that a copy has not confirmed. `latest`: the primary's last change. The
/// primary writes each change after the others have it, so its own copy does not count as behind.
[[nodiscard]] std::uint64_t
lag_of(const cluster_shard& shard, const cluster_copy& copy, replication::position latest);

/// Fills in what each shard waits for. @pre `is_served` is set where `status.node` serves the shard
void note_waits(cluster_status& status);

/// Fills in which other nodes that are present the one that answers does not reach. `reaches`
/// returns whether it has a connection to a node.
void note_unreached(
  cluster_status& status, const std::function<bool(const std::string& node)>& reaches);

} // namespace codeq::cluster
