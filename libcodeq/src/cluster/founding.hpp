// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/catalogue_keys.hpp"
#include "cluster/records.hpp"
#include "etcd/messages.hpp"

#include <map>
#include <vector>

namespace codeq::cluster {

/// The decisions that create a cluster, one after the other. The first one is won by one
/// coordinator, and whoever loses it joins instead. The winner may repeat all of them, also after a
/// restart: what is there already counts as decided. @pre each shard has one replica, in sync
[[nodiscard]] std::vector<etcd::swap> founding_swaps(
  const catalogue_keys& keys,
  const cluster_record& cluster,
  const std::map<shard_id, shard_record>& shards);

/// The first record of a shard, whose data are on one node.
[[nodiscard]] shard_record
first_record(replication::replica_id replica, const std::string& node, std::uint32_t epoch);

} // namespace codeq::cluster
