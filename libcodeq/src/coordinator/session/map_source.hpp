// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/cluster_map.hpp"
#include "replication/membership.hpp"

#include <optional>

namespace codeq::coordinator {

/// Where the shards of the cluster are served, as this coordinator knows it. Used on the thread of
/// the sockets.
class map_source {
public:
  virtual ~map_source() = default;

  /// The epoch in which this coordinator serves the shard; none when it does not serve it now.
  [[nodiscard]] virtual std::optional<replication::epoch_number>
  served_epoch(shard_id shard) const = 0;

  /// Whether this coordinator serves the shard now.
  [[nodiscard]] bool serves(shard_id shard) const { return served_epoch(shard).has_value(); }

  [[nodiscard]] virtual const cluster::cluster_map& map() const = 0;
};

} // namespace codeq::coordinator
