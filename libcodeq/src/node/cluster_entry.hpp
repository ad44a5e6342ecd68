// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include "cluster/records.hpp"
#include "coordinator/hub/store_need.hpp"
#include "etcd/client.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/replica/replica_store.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::node {

/// With the etcd that is known from the last start, if there is a data directory. Errors: of the
/// files, `invalid_argument`.
[[nodiscard]] result<etcd::client::options> etcd_options(const coordinator_node_options& options);

/// A cluster as it is in etcd.
struct known_cluster {
  /// Empty: there is none yet.
  std::optional<cluster::cluster_record> record;
  std::map<shard_id, cluster::shard_record> shards;
  /// The coordinators that are there, by name.
  std::map<std::string, cluster::node_record> nodes;
};

/// The replicas that a coordinator begins with.
struct cluster_entry {
  cluster::cluster_record record;
  std::map<shard_id, cluster::shard_record> shards;
  /// Only of shards that are in `shards`.
  std::map<shard_id, storage::stored_replica> replicas;
  /// The store's last second may be missing after a power cut.
  bool may_have_lost = false;
};

/// Finds the cluster or creates it, before a coordinator serves. Waits until etcd answers.
class cluster_door {
public:
  /// Errors: `incompatible_store` when a coordinator that was in no cluster before asks for another
  /// number of copies than the cluster has. @pre `check_cluster` was passed
  [[nodiscard]] static result<std::unique_ptr<cluster_door>>
  open(const coordinator_node_options& options);

  /// The number of shards that the store has to have: the cluster's, else the wished one. Errors:
  /// `incompatible_store` when another one is asked for.
  [[nodiscard]] result<std::size_t> shard_count();

  /// Checks that the store, which may be new, can be one of the cluster, if that exists. Errors:
  /// `incompatible_store`; of the store.
  [[nodiscard]] result<void> check_store(const storage::task_store& store) const;

  /// Creates the cluster with the store's data, or joins it. The store's replicas are those of
  /// this boot afterwards, and the etcd is known on the disk. Errors: of the store and the file;
  /// `incompatible_store`, also when etcd has forgotten what the store's replicas know or the store
  /// is another coordinator's; `invalid_argument` when another coordinator with this name runs.
  [[nodiscard]] result<cluster_entry>
  enter(storage::task_store& store, const storage::store_record& identity);

  /// Waits until the cluster does not need what this coordinator has stored, as etcd has decided;
  /// see `coordinator::store_need`. Errors: `corruption` names the shards whose last copy in sync
  /// is here, `unavailable` those that others do not serve in time; `incompatible_store` when etcd
  /// has no such cluster, or has forgotten what it decided. @pre the store is not open
  [[nodiscard]] result<void> await_unneeded_store();

private:
  cluster_door(const coordinator_node_options& options, etcd::client::options etcd);

  [[nodiscard]] result<known_cluster> look();
  /// Empty unless etcd was restored or replaced.
  [[nodiscard]] std::string find_out_how_it_forgot();
  [[nodiscard]] etcd::swap_answer decide(const etcd::swap& what);
  /// The shards for which the cluster needs this coordinator, as it was read last. Errors:
  /// `incompatible_store`.
  [[nodiscard]] result<coordinator::store_need> look_at_need() const;
  /// Reads the record of each shard by a decision of etcd.
  [[nodiscard]] result<void> read_shards_surely();
  [[nodiscard]] result<void> check_replicas() const;
  [[nodiscard]] result<void> check_founder(const storage::task_store& store) const;
  [[nodiscard]] result<void> create(const storage::store_record& identity);
  void warn_of_other_clusters();
  [[nodiscard]] result<void> check_history(const storage::task_store& store);
  [[nodiscard]] result<void>
  check_promise(shard_id shard, replication::epoch_number promised);
  [[nodiscard]] result<void> check_identity() const;
  [[nodiscard]] result<void> check_name(const storage::task_store& store);
  [[nodiscard]] result<void> await_name();
  [[nodiscard]] result<void>
  found_shards(storage::task_store& store, const storage::store_record& identity);
  [[nodiscard]] result<void>
  check_joiner(const storage::task_store& store, const storage::store_record& identity) const;

  coordinator_node_options options_;
  std::string prefix_;
  /// The store was open in a cluster before.
  bool has_history_;
  etcd::client client_;
  known_cluster known_;
};

} // namespace codeq::node
