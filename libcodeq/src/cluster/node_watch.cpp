// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_watch.hpp"

#include "cluster/cluster_timing.hpp"

#include <algorithm>

namespace codeq::cluster {

std::map<std::string, placed_node>
node_watch::look(const catalogue& known, monotonic_time now) {
  std::map<std::string, placed_node> nodes;
  const auto* cluster = known.cluster() ? &known.cluster()->record : nullptr;
  const auto is_drained = [cluster](const std::string& name) {
    return cluster
           && std::binary_search(cluster->drained.begin(), cluster->drained.end(), name);
  };
  for (const auto& [name, node] : known.nodes()) {
    auto state = node_state::serving;
    if (is_drained(name))
      state = node_state::drained;
    else if (node.record.is_leaving)
      state = node_state::missing;
    else if (node.record.refuses_tasks || node.record.free_bytes < timing::free_bytes_min)
      state = node_state::full;
    nodes[name] = {node.record.zone, state, node.record.refuses_tasks};
    zones_[name] = node.record.zone;
    missing_since_.erase(name);
  }
  const auto note_missing = [&](const std::string& name) {
    if (nodes.contains(name))
      return;
    const auto since = missing_since_.try_emplace(name, now).first->second;
    const auto is_gone = is_drained(name) || now >= since + timing::gone;
    nodes[name] = {zones_[name], is_gone ? node_state::gone : node_state::missing, false};
  };
  for (const auto& [number, shard] : known.shards()) {
    for (const auto& [replica, name] : shard.record.nodes)
      note_missing(name);
    for (const auto& name : shard.record.wanted)
      note_missing(name);
  }
  std::erase_if(missing_since_, [&](const auto& one) { return !nodes.contains(one.first); });
  std::erase_if(zones_, [&](const auto& one) { return !nodes.contains(one.first); });
  return nodes;
}

} // namespace codeq::cluster
