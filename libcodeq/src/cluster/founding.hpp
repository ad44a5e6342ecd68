// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "cluster/catalogue_keys.hpp"
#include "cluster/records.hpp"
#include "etcd/messages.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace codeq::cluster {

/// The name of the cluster that a key of etcd is of; empty: of none.
[[nodiscard]] std::string cluster_of(std::string_view key);

/// Asks for one key, to find another cluster: the first key behind all those of the cluster that
/// `key` is of. An empty `key`: the first of all.
[[nodiscard]] etcd::key_range next_cluster(const std::string& key);

/// The decision that creates a cluster. One coordinator wins it, and the others join.
[[nodiscard]] etcd::swap
founding_swap(const catalogue_keys& keys, const cluster_record& cluster);

/// The decision that creates a shard of the cluster; the coordinator that created the cluster makes
/// it. It may be repeated, also after a restart: a shard that has a record keeps it.
/// @pre the shard has one replica, in sync
[[nodiscard]] etcd::swap
founding_swap(const catalogue_keys& keys, shard_id number, const shard_record& shard);

/// A replica that has the data of a shard.
struct founding_replica {
  replication::replica_id id{};
  std::string node;
  /// The first epoch that it may serve in.
  std::uint32_t epoch = 1;
};

/// The version of the first record of a shard in a new catalogue. It begins with the epoch, which a
/// restore or a repair makes greater than any before: a client that outlives the old catalogue
/// keeps the place with the highest version.
[[nodiscard]] std::uint64_t first_version(std::uint32_t epoch);

/// The first record of a shard of the cluster, whose data are on one node.
[[nodiscard]] shard_record
first_record(const cluster_record& cluster, const founding_replica& replica);

} // namespace codeq::cluster
