// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/records.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace codeq::cluster {

/// What the controller believes of a node.
enum class node_state : std::uint8_t {
  /// Takes copies.
  serving,
  /// Takes no further copies: its disk is nearly full.
  full,
  /// It stops, or is not heard of for a short time: it keeps its copies, and gets no shard.
  missing,
  /// An operator drains it: it gives its copies away to nodes that take them.
  drained,
  /// Not heard of for long: its copies are replaced.
  gone,
};

struct placed_node {
  std::string zone;
  node_state state = node_state::serving;
  /// Its disk refuses new tasks: it leads no shard that another one can, and gives its copies away
  /// where a node has room for them.
  bool refuses_tasks = false;
};

struct placement_view {
  std::uint32_t copies = 1;
  /// Every node that is there or that a shard names.
  std::map<std::string, placed_node> nodes;
  std::map<shard_id, shard_record> shards;
};

struct placement_bounds {
  /// Shards whose copies are on their way at once.
  std::size_t moves_max = 16;
  /// Copies that one node receives at once.
  std::size_t moves_to_node_max = 2;
  /// Primaries that are asked to move at once.
  std::size_t handovers_max = 8;
};

/// Where the copies and the primaries of shards should be: on as many nodes as there are copies, in
/// different zones first, then evenly; primaries evenly over the nodes that have copies and take
/// tasks, but for those that an operator has placed. A shard that cannot be copied, since no node
/// with a copy in sync is there, gets none and holds up no other. A new copy is added before an old
/// one goes: that of a node that is drained or gone stays wanted while fewer others than `copies`
/// are kept. A shard that an operator has placed on a node that is drained, or that is gone and
/// whose copy was replaced, is placed as others are from then on. Returns the next records of the
/// shards whose `wanted`, `preferred` or `pinned` changes. Pure and without memory: it begins anew
/// from what is in etcd, so that a new controller goes on where the old one was. What it decides is
/// a wish; no promise depends on it.
[[nodiscard]] std::map<shard_id, shard_record>
place(const placement_view& view, const placement_bounds& bounds);

} // namespace codeq::cluster
