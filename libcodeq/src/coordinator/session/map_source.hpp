// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/cluster_map.hpp"

namespace codeq::coordinator {

/// Where the shards of the cluster are served, as this coordinator knows it. Used on the thread of
/// the sockets.
class map_source {
public:
  virtual ~map_source() = default;

  /// Whether this coordinator serves the shard now.
  [[nodiscard]] virtual bool serves(shard_id shard) const = 0;

  [[nodiscard]] virtual const cluster::cluster_map& map() const = 0;
};

} // namespace codeq::coordinator
