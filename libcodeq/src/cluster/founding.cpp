// SPDX-License-Identifier: Apache-2.0
#include "cluster/founding.hpp"

#include "base/assert.hpp"
#include "cluster/record_json.hpp"

namespace codeq::cluster {

std::vector<etcd::swap> founding_swaps(
  const catalogue_keys& keys,
  const cluster_record& cluster,
  const std::map<shard_id, shard_record>& shards) {
  CODEQ_ASSERT(shards.size() == cluster.shards);
  std::vector<etcd::swap> swaps;
  swaps.push_back({keys.cluster(), std::nullopt, encode(cluster), 0});
  for (const auto& [number, shard] : shards) {
    CODEQ_ASSERT(shard.value.in_sync.size() == 1);
    swaps.push_back({keys.shard(number), std::nullopt, encode(shard), 0});
  }
  return swaps;
}

shard_record
first_record(replication::replica_id replica, const std::string& node, std::uint32_t epoch) {
  shard_record shard;
  shard.value.version = 1;
  shard.value.epoch = epoch;
  shard.value.primary = replica;
  shard.value.replicas = shard.value.in_sync = {replica};
  shard.nodes = {{replica, node}};
  shard.wanted = {node};
  return shard;
}

} // namespace codeq::cluster
