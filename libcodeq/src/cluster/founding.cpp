// SPDX-License-Identifier: Apache-2.0
#include "cluster/founding.hpp"

#include "base/assert.hpp"
#include "cluster/record_json.hpp"

namespace codeq::cluster {

etcd::swap founding_swap(const catalogue_keys& keys, const cluster_record& cluster) {
  return {keys.cluster(), std::nullopt, encode(cluster), 0};
}

etcd::swap
founding_swap(const catalogue_keys& keys, shard_id number, const shard_record& shard) {
  CODEQ_ASSERT(shard.value.in_sync.size() == 1);
  return {keys.shard(number), std::nullopt, encode(shard), 0};
}

shard_record first_record(const cluster_record& cluster, const founding_replica& replica) {
  shard_record shard;
  shard.value.version = 1;
  shard.value.epoch = replica.epoch;
  shard.value.primary = replica.id;
  shard.value.replicas = shard.value.in_sync = {replica.id};
  shard.value.min_in_sync = cluster.min_in_sync;
  shard.nodes = {{replica.id, replica.node}};
  shard.wanted = {replica.node};
  return shard;
}

} // namespace codeq::cluster
