// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/store_need.hpp"

#include "replication/membership.hpp"

#include <algorithm>
#include <cstddef>

namespace codeq::coordinator {

namespace {

enum class need : std::uint8_t { none, awaited, last_copy };

need need_of_shard(
  const cluster::shard_record& shard,
  const std::map<std::string, cluster::node_record>& present,
  const std::string& node) {
  const auto& in_sync = shard.value.in_sync;
  const auto is_own = [&](const auto& entry) { return entry.second == node; };
  if (std::none_of(shard.nodes.begin(), shard.nodes.end(), is_own))
    return need::none;
  const auto own = static_cast<std::size_t>(
    std::count_if(in_sync.begin(), in_sync.end(), [&](replication::replica_id replica) {
      return cluster::node_of(shard, replica) == node;
    }));
  if (own == in_sync.size())
    return need::last_copy;
  const auto is_led = present.contains(cluster::node_of(shard, shard.value.primary));
  return own > 0 || !is_led ? need::awaited : need::none;
}

} // namespace

store_need need_of(
  const std::string& node,
  std::uint32_t shard_count,
  const std::map<shard_id, cluster::shard_record>& shards,
  const std::map<std::string, cluster::node_record>& present) {
  store_need needed;
  for (std::uint32_t i = 0; i < shard_count; ++i) {
    const auto shard = static_cast<shard_id>(i);
    const auto found = shards.find(shard);
    const auto how =
      found == shards.end() ? need::awaited : need_of_shard(found->second, present, node);
    if (how == need::last_copy)
      needed.last_copies.push_back(shard);
    else if (how == need::awaited)
      needed.awaited.push_back(shard);
  }
  return needed;
}

std::string text_of(const std::vector<shard_id>& shards) {
  std::string text;
  for (const auto shard : shards)
    text += (text.empty() ? "" : ", ") + std::to_string(value(shard));
  return text;
}

} // namespace codeq::coordinator
