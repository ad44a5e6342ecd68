// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "replication/membership.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace codeq::cluster {

/// Bytes of the address of a coordinator.
inline constexpr std::size_t address_bytes_max = 255;
/// Number of nodes that are drained at a time.
inline constexpr std::size_t drained_max = 100;

/// Copies of a shard, its primary among them.
inline constexpr std::uint32_t copies_max = 3;

/// Replicas that the record of a shard names, and nodes that it wants: copies, and those that come
/// and go while it moves. No coordinator reads a record with more.
inline constexpr std::size_t replicas_max = 9;

/// Fields that a newer version has written, name -> JSON. They are kept when a record is changed.
using extra_fields = std::map<std::string, std::string>;

/// The cluster itself; changes seldom. Its lease: none.
struct cluster_record {
  std::uint64_t version = 0;
  /// The identity of the cluster's store towards producers, minted by the first coordinator.
  std::uint64_t identity = 0;
  std::uint32_t shards = 0;
  /// Copies of each shard, 1 to `copies_max`.
  std::uint32_t copies = 1;
  std::uint32_t min_in_sync = 1;
  /// No primary writes a newer format of records; raised when all coordinators read it.
  std::uint32_t store_format = 1;
  /// Version of the settings of queues, limits and tenants, which shard 0 holds.
  std::uint64_t settings_version = 0;
  /// Nodes that lose their copies, sorted.
  std::vector<std::string> drained;
  extra_fields extra;

  bool operator==(const cluster_record&) const = default;
};

/// One coordinator that is there. Leased: its absence suggests that the coordinator is dead.
struct node_record {
  std::uint64_t version = 0;
  /// Random, new at each start of the process.
  std::uint64_t incarnation = 0;
  /// Where coordinators and clients connect to it; the second one is empty without HTTP.
  std::string address;
  std::string http_address;
  std::string zone;
  std::uint64_t free_bytes = 0;
  /// Number of live tasks.
  std::uint64_t tasks = 0;
  /// The newest format of records that it reads.
  std::uint32_t store_format_max = 1;
  /// It stops: it hands over its shards, gets none, and keeps its copies.
  bool is_leaving = false;
  /// Its disk has too little space for new tasks; others lead its shards where they can. Written
  /// only then.
  bool refuses_tasks = false;
  extra_fields extra;

  bool operator==(const node_record&) const = default;
};

/// The part of a `node_record` that describes the coordinator's disk.
struct node_disk {
  std::uint64_t free_bytes = 0;
  bool refuses_tasks = false;

  bool operator==(const node_disk&) const = default;
};

/// The coordinator that places replicas. Leased. No promise depends on it.
struct controller_record {
  std::uint64_t version = 0;
  std::string node;
  std::uint64_t incarnation = 0;
  extra_fields extra;

  bool operator==(const controller_record&) const = default;
};

/// One shard: what its replicas decide with, and where they are. `value.version` is the version of
/// the whole record.
struct shard_record {
  replication::membership value;
  /// The node of each replica; its keys are `value.replicas`.
  std::map<replication::replica_id, std::string> nodes;
  /// The nodes that are to hold a copy, sorted: one without a replica creates it, a replica
  /// elsewhere leaves. Set by the controller.
  std::vector<std::string> wanted;
  /// The node that is to be the next primary; empty: none. Set by the controller, and cleared by
  /// the next election.
  std::string preferred;
  /// The node that an operator wants as the primary; empty: none.
  std::string pinned;
  /// An operator has made its primary one, whatever was in sync. Ends with the next election.
  bool is_forced = false;
  extra_fields extra;

  bool operator==(const shard_record&) const = default;
};

/// Returns the state of a disk that was `before` and has `free_bytes` now. A disk refuses tasks
/// below `least` free bytes, while the number is unknown, and then until twice `least` is free, so
/// that the shards that are handed over do not come back at once.
[[nodiscard]] node_disk
next_disk(const node_disk& before, const result<std::uint64_t>& free_bytes, std::uint64_t least);

/// Replicas that are not in sync, sorted.
[[nodiscard]] std::vector<replication::replica_id> learners(const shard_record& shard);

/// The node of a replica; empty when there is no such replica.
[[nodiscard]] std::string node_of(const shard_record& shard, replication::replica_id replica);

/// The replica on a node, if there is one.
[[nodiscard]] const replication::replica_id*
replica_on(const shard_record& shard, const std::string& node);

/// The record after the replicas have changed their part of it. @pre `next` follows `old.value`
[[nodiscard]] shard_record with_value(const shard_record& old, replication::membership next);

/// The next record with a new replica, as a learner. @pre the node has none
[[nodiscard]] shard_record
with_replica(const shard_record& old, replication::replica_id added, const std::string& node);

/// The next record without a replica. @pre it is a learner
[[nodiscard]] shard_record without_replica(const shard_record& old, replication::replica_id gone);

} // namespace codeq::cluster
