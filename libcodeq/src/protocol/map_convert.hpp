// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "cluster/cluster_map.hpp"
#include "protocol/messages.hpp"
#include "replication/membership.hpp"

#include <cstddef>
#include <span>
#include <utility>
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

/// Epochs of shards, in which a client sends its messages to their places.
using epochs_of_shards = std::vector<std::pair<shard_id, replication::epoch_number>>;

[[nodiscard]] shard_epochs make_shard_epochs(const epochs_of_shards& epochs);

/// Errors: `protocol_error` for a shard that is not below `shards`.
[[nodiscard]] result<epochs_of_shards>
read_shard_epochs(const shard_epochs& message, std::size_t shards);

} // namespace codeq::protocol
