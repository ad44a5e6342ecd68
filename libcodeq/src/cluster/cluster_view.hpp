// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"

#include "cluster/catalogue.hpp"

#include <string>

namespace codeq::cluster {

/// The state of a cluster as etcd has told it; nothing is known of the positions of copies, and no
/// shard counts as served. Pure. `node`: the coordinator that answers.
[[nodiscard]] cluster_status
view_of(const catalogue& known, const std::string& cluster, const std::string& node);

/// Names what each shard waits for. @pre `is_served` is set for the shards that `status.node` serves
void note_waits(cluster_status& status);

} // namespace codeq::cluster
