// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"

#include "coordinator/actors/disk_reserve.hpp"
#include "coordinator/hub/replica_hub.hpp"
#include "http/desk/far_shards.hpp"
#include "node/cluster_entry.hpp"
#include "node/link_security.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace codeq::node {

/// Parts of a coordinator that its replicas use.
struct cluster_seat_parts {
  std::shared_ptr<storage::task_store> store;
  coordinator::journal_actor journal;
  std::uint64_t incarnation = 0;
  /// See `coordinator::replica_hub_options`.
  decltype(coordinator::replica_hub_options::start_shard) start_shard;
  std::shared_ptr<coordinator::disk_reserve> reserve;
  std::shared_ptr<coordinator::shared_board> board;
};

/// A coordinator's place in its cluster: the actors of its replicas, and its member of the cluster,
/// which talks to etcd.
class cluster_seat {
public:
  /// Starts the actors; nothing happens before `join`. Errors: of the files of the credentials.
  [[nodiscard]] static result<std::unique_ptr<cluster_seat>>
  take(caf::actor_system& system, const coordinator_node_options& options, cluster_seat_parts parts,
       cluster_entry entry);

  ~cluster_seat();
  cluster_seat(const cluster_seat&) = delete;
  cluster_seat& operator=(const cluster_seat&) = delete;

  [[nodiscard]] const cluster_entry& entry() const { return entry_; }

  [[nodiscard]] const coordinator::replicas_actor& replicas() const { return replicas_; }

  [[nodiscard]] const std::vector<coordinator::shard_host_actor>& hosts() const { return hosts_; }

  [[nodiscard]] std::shared_ptr<const coordinator::served_shards> places() const {
    return places_;
  }

  /// How the gateway reaches the shards of the cluster.
  [[nodiscard]] http::far_shards_options far_shards() const;

  /// Takes part in the cluster from now on. Errors: as `etcd_options`.
  [[nodiscard]] result<void> join();

  /// Hands over the shards that others can serve; then leaves etcd. Ends at `until`, also when
  /// others do not serve the shards yet.
  void leave(std::chrono::steady_clock::time_point until);

private:
  cluster_seat(
    caf::actor_system& system, const coordinator_node_options& options, cluster_entry entry);

  [[nodiscard]] cluster::member_events events() const;

  caf::actor_system& system_;
  coordinator_node_options options_;
  cluster_entry entry_;
  /// Credentials that are shown to the coordinators of the cluster.
  link_security access_;
  std::shared_ptr<coordinator::served_shards> places_;
  std::vector<coordinator::shard_host_actor> hosts_;
  std::vector<coordinator::replica_worker_actor> workers_;
  coordinator::replicas_actor replicas_;
  /// See `coordinator::replica_hub_options`.
  decltype(coordinator::replica_hub_options::look_at_disk) look_at_disk_;
  std::shared_ptr<cluster::member_driver> member_;
};

} // namespace codeq::node
