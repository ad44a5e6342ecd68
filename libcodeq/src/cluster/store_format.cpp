// SPDX-License-Identifier: Apache-2.0
#include "cluster/store_format.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace codeq::cluster {

namespace {

bool are_all_there(const catalogue& known) {
  const auto& shards = known.shards();
  return std::all_of(shards.begin(), shards.end(), [&](const auto& shard) {
    const auto& nodes = shard.second.record.nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](const auto& copy) {
      return known.nodes().contains(copy.second);
    });
  });
}

} // namespace

result<void> check_format(const cluster_record& cluster, std::uint32_t store_format_max) {
  if (cluster.store_format <= store_format_max)
    return {};
  return error{
    errc::incompatible_store,
    "the stores of the cluster have format " + std::to_string(cluster.store_format)
      + "; this version of codeq-coordinator reads up to " + std::to_string(store_format_max)
      + ": start the version that the other coordinators have"};
}

std::optional<cluster_record> with_raised_format(const catalogue& known) {
  if (!known.cluster() || known.nodes().empty() || !are_all_there(known))
    return std::nullopt;
  auto newest = std::numeric_limits<std::uint32_t>::max();
  for (const auto& [name, node] : known.nodes())
    newest = std::min(newest, node.record.store_format_max);
  auto next = known.cluster()->record;
  if (newest <= next.store_format)
    return std::nullopt;
  ++next.version;
  next.store_format = newest;
  return next;
}

} // namespace codeq::cluster
