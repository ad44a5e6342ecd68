// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/records.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// The shards for which a cluster still needs the data of one node.
struct store_need {
  /// No other node has these in sync. That stays so as long as the node does not run, unless an
  /// operator makes another copy the primary by force.
  std::vector<shard_id> last_copies;
  /// The node still counts as in sync, so an election could need it; or no coordinator that is
  /// present leads the shard; or etcd has no record of the shard yet. This passes when the others
  /// serve these shards without the node.
  std::vector<shard_id> awaited;

  friend bool operator==(const store_need&, const store_need&) = default;
};

/// Returns what the cluster needs of the node, which does not run. When both lists are empty, no
/// acknowledged change is lost with the data of the node: each shard of which it has a copy is led
/// by another coordinator, and its own replica is not in sync, so it cannot be elected.
/// `shard_count`: of the cluster; `present`: the coordinators that are there, by name.
[[nodiscard]] store_need need_of(
  const std::string& node,
  std::uint32_t shard_count,
  const std::map<shard_id, cluster::shard_record>& shards,
  const std::map<std::string, cluster::node_record>& present);

/// The numbers of shards, for an operator: `2, 5`.
[[nodiscard]] std::string text_of(const std::vector<shard_id>& shards);

} // namespace codeq::coordinator
