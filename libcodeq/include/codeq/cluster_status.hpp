// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

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
  /// Number of changes of the primary that the copy has not confirmed; 0 for the primary's own.
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
  /// The node to which an operator has moved the shard, until the next `balance`, or until that
  /// node is drained; empty: none.
  std::string pinned{};
};

struct cluster_node {
  std::string name;
  /// Address, HTTP address and zone of a node that is missing are those that it told last; they are
  /// empty when no coordinator that answers has learnt them.
  std::string address;
  std::string http_address;
  std::string zone;
  /// It keeps its lease in etcd.
  bool is_present = false;
  bool is_draining = false;
  std::uint64_t free_bytes = 0;
  /// It has answered the question for this status.
  bool has_answered = false;
  /// For how long etcd has not answered it, as it says itself; zero while etcd answers.
  duration etcd_silent{};
  /// The other nodes that are present, by name, to which it has no connection, as it says itself;
  /// empty when it has not answered.
  std::vector<std::string> unreached{};
  /// Its disk has too little space for new tasks, so others lead its shards where they can.
  bool refuses_tasks = false;
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

/// The backup of one coordinator, as a part of that of its cluster.
struct cluster_backup_part {
  std::string node;
  /// Number of the backup in this coordinator's directory of backups.
  std::uint32_t number = 0;
  /// Size of all its files, including those that it shares with earlier backups.
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;

  bool operator==(const cluster_backup_part&) const = default;
};

/// A copy of the shard belongs to the backup when it has at least this change.
struct cluster_backup_shard {
  shard_id shard{};
  std::uint32_t epoch = 0;
  std::uint64_t position = 0;

  bool operator==(const cluster_backup_shard&) const = default;
};

/// The backup of a whole cluster: which backups of its coordinators fit together.
struct cluster_backup {
  std::string cluster;
  /// Identity of this backup, random; the backups of the coordinators are marked with it.
  std::uint64_t run = 0;
  /// By node.
  std::vector<cluster_backup_part> parts;
  /// All shards, by number.
  std::vector<cluster_backup_shard> shards;

  bool operator==(const cluster_backup&) const = default;
};

/// An operator's wish for the places of shards.
struct cluster_change {
  enum class kind : std::uint8_t {
    none,
    /// `node` is to serve `shard`, of which it has a copy in sync, until the next `balance`, or
    /// until it is drained.
    move,
    /// `node` gives away its shards and copies, for good.
    drain,
    undrain,
    /// Forgets all moves.
    balance,
    /// `node`, which is asked, is to serve `shard` although its copy may lack what was
    /// acknowledged; `confirm` repeats the words by which the refusal describes the loss.
    force_primary,
  };

  kind what = kind::none;
  shard_id shard{};
  std::string node{};
  /// Random number of this command; a repeat with the same number has the same result. 0: chosen
  /// when it is sent.
  std::uint64_t operation = 0;
  /// Only for `force_primary`; without it the error has the words.
  std::string confirm{};
};

/// The change in the words of codeqctl, without the name of the command: "move 3 --to c2".
[[nodiscard]] std::string to_string(const cluster_change& change);

} // namespace codeq
