// SPDX-License-Identifier: Apache-2.0
#include "cluster/records.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::cluster {

using replication::membership;
using replication::replica_id;

node_disk
next_disk(const node_disk& before, const result<std::uint64_t>& free_bytes, std::uint64_t least) {
  if (!free_bytes)
    return {0, true};
  const auto counted = before.refuses_tasks ? *free_bytes / 2 : *free_bytes;
  return {*free_bytes, counted < least};
}

std::vector<replica_id> learners(const shard_record& shard) {
  std::vector<replica_id> rest;
  std::set_difference(
    shard.value.replicas.begin(),
    shard.value.replicas.end(),
    shard.value.in_sync.begin(),
    shard.value.in_sync.end(),
    std::back_inserter(rest));
  return rest;
}

std::string node_of(const shard_record& shard, replica_id replica) {
  const auto found = shard.nodes.find(replica);
  return found == shard.nodes.end() ? std::string() : found->second;
}

const replica_id* replica_on(const shard_record& shard, const std::string& node) {
  for (const auto& [replica, name] : shard.nodes)
    if (name == node)
      return &replica;
  return nullptr;
}

shard_record with_value(const shard_record& old, membership next) {
  CODEQ_ASSERT(next.version == old.value.version + 1 && next.replicas == old.value.replicas);
  auto record = old;
  if (next.epoch != old.value.epoch) {
    record.is_forced = false;
    // The election has carried the wish out, or the hand-over has failed.
    record.preferred.clear();
  }
  record.value = std::move(next);
  return record;
}

shard_record
with_replica(const shard_record& old, replica_id added, const std::string& node) {
  CODEQ_ASSERT(!replica_on(old, node) && !old.nodes.contains(added));
  auto record = old;
  ++record.value.version;
  auto& replicas = record.value.replicas;
  replicas.insert(std::upper_bound(replicas.begin(), replicas.end(), added), added);
  record.nodes.emplace(added, node);
  return record;
}

shard_record without_replica(const shard_record& old, replica_id gone) {
  CODEQ_ASSERT(old.nodes.contains(gone) && !replication::contains(old.value.in_sync, gone));
  auto record = old;
  ++record.value.version;
  std::erase(record.value.replicas, gone);
  record.nodes.erase(gone);
  return record;
}

} // namespace codeq::cluster
