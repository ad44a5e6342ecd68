// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The state of a cluster, and the changes that an operator can make to it.
namespace codeq {

/// A copy of a shard, or one that is to be made.
struct cluster_copy {
  std::string node;
  bool is_in_sync = false;
  /// Whether the following fields are known.
  bool is_known = false;
  /// The last change of the shard that the copy has.
  std::uint32_t epoch = 0;
  std::uint64_t position = 0;
  /// Number of changes of the primary that the copy has not confirmed.
  std::uint64_t lag = 0;
};

struct cluster_shard {
  shard_id shard{};
  /// Name of the node.
  std::string primary;
  /// The primary has said that it serves the shard.
  bool is_served = false;
  std::uint32_t epoch = 0;
  /// By node.
  std::vector<cluster_copy> copies;
  /// The next step until the shard is as it should be; empty: none is needed.
  std::string waits_for;
};

struct cluster_node {
  std::string name;
  /// Address, HTTP address and zone are unknown of a node that is missing.
  std::string address;
  std::string http_address;
  std::string zone;
  /// It keeps its lease in etcd.
  bool is_present = false;
  bool is_draining = false;
  std::uint64_t free_bytes = 0;
  /// It has answered the question for this status.
  bool has_answered = false;
};

/// The state of a cluster: its decisions in etcd, and the positions that primaries have told.
struct cluster_status {
  std::string name;
  /// The coordinator that answered.
  std::string node;
  /// Number of copies that each shard is to have, and of those that have to be in sync for new
  /// tasks.
  std::uint32_t copies = 0;
  std::uint32_t min_in_sync = 0;
  /// By name.
  std::vector<cluster_node> nodes;
  /// By number.
  std::vector<cluster_shard> shards;
};

/// An operator's wish for the places of shards.
struct cluster_change {
  enum class kind : std::uint8_t {
    none,
    /// `node` is to serve `shard`, of which it has a copy in sync, until the next `balance`.
    move,
    /// `node` gives away its shards and copies, for good.
    drain,
    undrain,
    /// Forgets all moves.
    balance,
    /// `node`, which is asked, is to serve `shard` although its copy may lack what was
    /// acknowledged; `confirm` has the words of the loss.
    force_primary,
  };

  kind what = kind::none;
  shard_id shard{};
  std::string node{};
  /// Identity of the command, random: asked for again, it has the same end. 0: minted when it is
  /// sent.
  std::uint64_t operation = 0;
  /// Only for `force_primary`; its error tells the words.
  std::string confirm{};
};

/// The change in the words of codeqctl, without the name of the command: "move 3 --to c2".
[[nodiscard]] std::string to_string(const cluster_change& change);

} // namespace codeq
