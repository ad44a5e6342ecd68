// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "cluster/cluster_map.hpp"
#include "protocol/messages.hpp"

#include <span>
#include <vector>

/// Converts the places of a cluster's shards.
namespace codeq::protocol {

/// The contents of a `ClusterMap`.
struct told_places {
  cluster::map_news news;
  /// Shards that the sender does not serve.
  std::vector<shard_id> not_here;
};

[[nodiscard]] cluster_map_news
make_cluster_map(const cluster::map_news& news, std::span<const shard_id> not_here);

/// Errors: `protocol_error`, which names the field.
[[nodiscard]] result<told_places> read_cluster_map(const cluster_map_news& message);

} // namespace codeq::protocol
