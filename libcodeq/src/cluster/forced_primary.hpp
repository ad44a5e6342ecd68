// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "cluster/records.hpp"

#include <set>
#include <string>

/// A primary that an operator chooses although it may lack what was acknowledged. Pure.
namespace codeq::cluster {

/// A coordinator's own copy of a shard, and the nodes that the coordinator reaches.
struct own_copy {
  replication::epoch_number promised = 0;
  replication::position last;
  bool is_doubtful = false;
  bool is_incomplete = false;
  /// Nodes with a connection.
  std::set<std::string> reachable{};
};

/// A request to make the copy of `node` the primary of `shard`.
struct forced_primary {
  shard_id shard{};
  std::string node;
  own_copy own;
  /// Nodes that keep their lease.
  std::set<std::string> present;
  /// The operator's words of the loss.
  std::string confirm;
};

/// The next record, with the copy as the only one in sync. Errors: `invalid_argument` when the copy
/// is in sync, is incomplete or is not there, or without the words of the loss, which the error
/// then tells; they say it, too, when a member in sync is alive.
[[nodiscard]] result<shard_record>
force_primary(const shard_record& record, const forced_primary& wanted);

/// Names the loss, for logs. @pre the node has a copy
[[nodiscard]] std::string
forced_loss(const shard_record& record, const std::string& node, const own_copy& own);

} // namespace codeq::cluster
