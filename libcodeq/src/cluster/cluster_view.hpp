// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"

#include "cluster/catalogue.hpp"

#include <functional>
#include <string>

namespace codeq::cluster {

/// The state of a cluster as etcd has told it; nothing is known of the positions of copies, and no
/// shard counts as served. Pure. `node`: the coordinator that answers.
[[nodiscard]] cluster_status
view_of(const catalogue& known, const std::string& cluster, const std::string& node);

/// Fills in what each shard waits for. @pre `is_served` is set where `status.node` serves the shard
void note_waits(cluster_status& status);

/// Fills in which other nodes that are present the one that answers does not reach. `reaches`
/// returns whether it has a connection to a node.
void note_unreached(
  cluster_status& status, const std::function<bool(const std::string& node)>& reaches);

} // namespace codeq::cluster
