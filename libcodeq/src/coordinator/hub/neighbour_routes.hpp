// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "replication/membership.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// The node that serves each shard of the cluster, as etcd told last, for messages between shards;
/// and which of those messages are of the past. Pure.
class neighbour_routes {
public:
  /// Etcd's word about a shard. Returns true when another primary serves it, or the same one in
  /// another epoch.
  bool set(shard_id shard, const std::string& node, replication::epoch_number epoch);

  /// The node of the shard's primary; empty when it is not known.
  [[nodiscard]] const std::string& node_of(shard_id shard) const;

  /// The shards whose primaries are on the node, ascending.
  [[nodiscard]] std::vector<shard_id> shards_on(const std::string& node) const;

  /// Whether the shard's words count: not when they are of an older epoch than is known, since the
  /// primary of that epoch may have had tasks that the present one has not.
  [[nodiscard]] bool hear(shard_id from, replication::epoch_number epoch);

private:
  struct place {
    std::string node;
    replication::epoch_number epoch = 0;
    /// The highest epoch of a message or of etcd.
    replication::epoch_number latest = 0;
  };

  std::map<shard_id, place> places_;
};

} // namespace codeq::coordinator
