// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/cluster_shard_counts.hpp"
#include "observe/metric_families.hpp"

#include <vector>

namespace codeq::observe {

/// The metrics of a cluster's shards: a few series for each shard of which this coordinator has a
/// copy, and two for each other copy of a shard that it serves.
void write_cluster(metric_families& to, const std::vector<base::cluster_shard_counts>& shards);

} // namespace codeq::observe
