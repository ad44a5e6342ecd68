// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/neighbour_routes.hpp"

#include <algorithm>

namespace codeq::coordinator {

using replication::epoch_number;

bool neighbour_routes::set(shard_id shard, const std::string& node, epoch_number epoch) {
  auto& known = places_[shard];
  const auto is_new = known.node != node || known.epoch != epoch;
  known.node = node;
  known.epoch = epoch;
  known.latest = std::max(known.latest, epoch);
  return is_new;
}

const std::string& neighbour_routes::node_of(shard_id shard) const {
  static const std::string nowhere;
  const auto found = places_.find(shard);
  return found == places_.end() ? nowhere : found->second.node;
}

std::vector<shard_id> neighbour_routes::shards_on(const std::string& node) const {
  std::vector<shard_id> shards;
  for (const auto& [shard, known] : places_)
    if (known.node == node)
      shards.push_back(shard);
  return shards;
}

bool neighbour_routes::hear(shard_id from, epoch_number epoch) {
  auto& known = places_[from];
  if (epoch < known.latest)
    return false;
  known.latest = epoch;
  return true;
}

} // namespace codeq::coordinator
