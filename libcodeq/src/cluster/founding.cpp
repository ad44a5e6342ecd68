// SPDX-License-Identifier: Apache-2.0
#include "cluster/founding.hpp"

#include "base/assert.hpp"
#include "cluster/record_json.hpp"

namespace codeq::cluster {

std::string cluster_of(std::string_view key) {
  if (!key.starts_with(catalogue_root))
    return {};
  key.remove_prefix(catalogue_root.size());
  const auto name = key.substr(0, key.find('/'));
  const auto is_of_cluster = name.size() < key.size() && is_valid_name(name);
  return is_of_cluster ? std::string(name) : std::string();
}

etcd::key_range next_cluster(const std::string& key) {
  auto range = etcd::range_of_prefix(std::string(catalogue_root));
  range.keys_max = 1;
  if (const auto name = cluster_of(key); !name.empty())
    range.first = etcd::range_of_prefix(catalogue_keys(name).prefix()).end;
  else if (!key.empty())
    range.first = key + '\0';
  return range;
}

etcd::swap founding_swap(const catalogue_keys& keys, const cluster_record& cluster) {
  return {keys.cluster(), std::nullopt, encode(cluster), 0};
}

etcd::swap
founding_swap(const catalogue_keys& keys, shard_id number, const shard_record& shard) {
  CODEQ_ASSERT(shard.value.in_sync.size() == 1);
  return {keys.shard(number), std::nullopt, encode(shard), 0};
}

std::uint64_t first_version(std::uint32_t epoch) {
  constexpr int changes_bits = 32;
  return std::uint64_t{epoch} << changes_bits | 1;
}

shard_record first_record(const cluster_record& cluster, const founding_replica& replica) {
  shard_record shard;
  shard.value.version = first_version(replica.epoch);
  shard.value.epoch = replica.epoch;
  shard.value.primary = replica.id;
  shard.value.replicas = shard.value.in_sync = {replica.id};
  shard.value.min_in_sync = cluster.min_in_sync;
  shard.nodes = {{replica.id, replica.node}};
  shard.wanted = {replica.node};
  return shard;
}

} // namespace codeq::cluster
