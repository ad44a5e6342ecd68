// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "cluster/records.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Makes the records of a cluster from its copies, when etcd has forgotten them. Pure.
namespace codeq::cluster {

/// The copy of one shard on a disk.
struct copy_facts {
  replication::replica_id id{};
  replication::epoch_number promised = 0;
  replication::position last;
  bool is_doubtful = false;
  bool is_incomplete = false;

  bool operator==(const copy_facts&) const = default;
};

/// The copies on the disk of a stopped coordinator, and the last state of its cluster that it knew.
struct node_facts {
  std::string node;
  std::uint64_t identity = 0;
  std::uint32_t shards = 0;
  std::uint32_t copies = 0;
  std::uint32_t min_in_sync = 0;
  /// The nodes of the cluster.
  std::set<std::string> nodes;
  std::map<shard_id, copy_facts> held;

  bool operator==(const node_facts&) const = default;
};

[[nodiscard]] std::string encode(const node_facts& facts);
/// Errors: `corruption`, which names the field.
[[nodiscard]] result<node_facts> decode_facts(std::string_view text);

struct repair_input {
  /// The records of etcd, as far as it has them.
  std::optional<cluster_record> cluster;
  std::map<shard_id, shard_record> shards;
  std::vector<node_facts> nodes;
  /// Nodes that will not take part.
  std::set<std::string> without;
};

struct repair_plan {
  cluster_record cluster;
  std::map<shard_id, shard_record> shards;
  /// The words that confirm the repair; without them nothing is written.
  std::string words;
};

/// The records anew: of each shard the largest position of the newest epoch wins, in an epoch that
/// is `forced_epochs` beyond all promises; complete copies that have less are learners. Errors:
/// `invalid_argument` when a node of the cluster is missing and not named in `without`, when facts
/// contradict each other, when a shard has no complete copy, or when its epoch is too large.
[[nodiscard]] result<repair_plan> plan_repair(const repair_input& from);

} // namespace codeq::cluster
