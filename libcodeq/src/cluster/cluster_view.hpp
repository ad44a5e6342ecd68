// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"

#include "cluster/catalogue.hpp"

#include <string>

namespace codeq::cluster {

/// The state of a cluster as etcd has told it; nothing is known of the positions of copies, and no
/// shard counts as served. Pure. `node`: the coordinator that answers.
[[nodiscard]] cluster_status
view_of(const catalogue& known, const std::string& cluster, const std::string& node);

/// Fills in what each shard waits for. @pre `is_served` is set where `status.node` serves the shard
void note_waits(cluster_status& status);

} // namespace codeq::cluster
