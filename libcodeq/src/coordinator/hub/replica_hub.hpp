// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "cluster/member_driver.hpp"
#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/hub/head_exchange.hpp"
#include "coordinator/hub/hosted_replica.hpp"
#include "coordinator/hub/neighbour_routes.hpp"
#include "coordinator/hub/peer_links.hpp"
#include "coordinator/hub/served_shards.hpp"
#include "coordinator/replica/replica_wire.hpp"
#include "coordinator/shared/shared_board.hpp"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::coordinator {

struct replica_hub_options {
  /// This coordinator towards the others.
  peer_links_options links;
  std::shared_ptr<storage::task_store> store;
  /// Directory of the spools.
  std::filesystem::path spools;
  /// Notes on the disk, synced, which etcd is known, and the nodes that have copies; called by the
  /// spooler.
  std::function<void(const etcd::header&, const std::set<std::string>&)> keep_etcd;
  /// Ends the process, since it cannot go on. May be called on any thread.
  std::function<void(const error&)> end_on_failure;
  /// Looks at the disk, which was in the given state before, and returns its state now. Called on
  /// the spooler's thread, since it may wait for the disk.
  std::function<cluster::node_disk(const cluster::node_disk&)> look_at_disk;
  journal_actor journal;
  replica_worker_actor spooler;
  replica_worker_actor copier;
  replica_worker_actor recoverer;
  /// Indexed by shard number.
  std::vector<shard_host_actor> hosts;
  std::shared_ptr<served_shards> places;
  /// The first ready tasks of the shards that are served here. @pre it tells changes
  std::shared_ptr<shared_board> board;
  /// Starts the actor of a recovered shard.
  std::function<shard_internal_actor(served_shard)> start_shard;
  std::uint64_t name_seed = 0;
};

/// A replica that the store had when it was opened.
struct found_replica_data {
  shard_id shard{};
  storage::stored_replica stored;
  cluster::shard_record record;
};

/// The actor of all replicas of a coordinator: carries their messages to other coordinators, their
/// writes to the journal, their decisions to etcd, and starts and stops the shards that they serve.
/// Runs on the thread of the sockets.
class replica_hub {
public:
  static constexpr const char* name = "replicas";

  /// The end of a work, for the replica that asked; empty: nothing.
  using replica_end = std::function<void(hosted_replica&, monotonic_time)>;

  void start(replicas_actor::pointer self, replica_hub_options options);

  [[nodiscard]] const replica_hub_options& options() const { return options_; }

  [[nodiscard]] monotonic_time now() { return clock_.now().steady; }

  // From the node, by steps.

  /// Takes part in the cluster with the replicas of the store.
  void join(
    std::shared_ptr<cluster::member_driver> member, std::vector<found_replica_data> replicas);

  /// News of the member; see `cluster::member_port`.
  void shard_told(shard_id shard, const cluster::shard_record& record, bool is_applied);
  void build(shard_id shard);
  void drop(shard_id shard, replication::replica_id replica);
  void hand_over(shard_id shard, replication::replica_id to);
  void map_changed(const cluster::cluster_map& map);
  void nodes_seen(
    const std::map<std::string, std::string>& addresses, std::set<std::string> staying);
  void disk_seen(const cluster::node_disk& disk);

  /// Whether the disk is known to have space for new tasks.
  [[nodiscard]] bool has_room() const { return disk_ && !disk_->refuses_tasks; }

  // Messages.

  void commit(commit_request& m);
  void raise_epoch(const coordinator::raise_epoch& m);
  void committed(const batch_committed& m);
  void take(const replica_frame_arrived& m);

  /// Passes on what a shard that is served here says to another one.
  void tell(const neighbour_told& m);

  void take(const actors::link_up& m);

  void take(const actors::link_down& m);

  void tick();
  void flush();
  [[nodiscard]] caf::result<cluster_told> inquire(const cluster_question& m);
  /// The shards of the cluster as this coordinator knows them, by number.
  [[nodiscard]] cluster_shards_told count_shards();
  [[nodiscard]] caf::result<bool> stop();

  // From replicas.

  void send(const shard_message& m, bool is_copy);
  void write(turn_commit turn);
  void compare_and_set(
    shard_id shard, const replication::membership& old, const replication::membership& next);
  /// The shard is served here in that epoch: sessions, neighbours and etcd learn it.
  void host(shard_id shard, const shard_actor& served, replication::epoch_number epoch);
  /// The shard takes no more requests.
  void end_hosting(shard_id shard);
  /// Waits for the end of what the shard has taken, for a limited time; then `drained`.
  void drain(
    const hosted_replica& who, const shard_internal_actor& served, replication::replica_id to);

  /// Carries the words of the shards that are served here to others.
  [[nodiscard]] neighbours_actor neighbours() const {
    return caf::actor_cast<neighbours_actor>(self_);
  }

  /// The journal of the shards that are served here.
  [[nodiscard]] shard_journal_actor journal() const {
    return caf::actor_cast<shard_journal_actor>(self_);
  }

  /// Has a worker do something, then calls what it returned unless the replica is gone.
  void work(
    const replica_worker_actor& worker,
    const hosted_replica& who,
    std::function<replica_end()> what);

private:
  /// A question for the state of the cluster that is not answered yet.
  struct inquiry {
    cluster_question asked;
    caf::typed_response_promise<cluster_told> promise;
  };

  /// A replica whose first record is on its way to the disk.
  struct new_replica {
    storage::stored_replica stored;
    /// See `write_own`.
    std::uint64_t number = 0;
  };

  /// The data of a dropped replica, which are being removed.
  struct removal {
    /// Null until the replica's last write is on the disk. Used by the copier's thread.
    std::shared_ptr<storage::shard_sweep> sweep{};
    /// See `write_own`.
    std::uint64_t number = 0;
  };

  [[nodiscard]] hosted_replica* find(shard_id shard, replication::replica_id id);
  void add(shard_id shard, storage::stored_replica stored, const replication::membership& value);
  /// Writes for a shard that has no replica here. Returns the number with which the journal says
  /// that they are committed; no replica uses it.
  [[nodiscard]] std::uint64_t write_own(turn_commit turn);
  [[nodiscard]] static bool is_own(const batch_committed& m);
  void committed_own(const batch_committed& m);
  /// Removes the history of a dropped replica, then its data in steps, until they are gone or the
  /// shard gets a replica here again.
  void remove_data(
    shard_id shard, replication::replica_id replica, const replication::epoch_index& log);
  void go_on_removing(shard_id shard);
  void take_removals(
    shard_id shard,
    const std::shared_ptr<storage::shard_sweep>& from,
    const result<storage::write_set>& removals);
  void remove_spools(std::vector<std::filesystem::path> directories);
  /// The directories of spools of replicas that are not here any more.
  [[nodiscard]] std::vector<std::filesystem::path> old_spools() const;
  void receive(std::uint64_t incarnation, shard_message& m);
  /// Gives the shard, if it is served here, what another one says.
  void pass_on(shard_id to, neighbour_message said);
  void tell_moved(std::vector<shard_id> shards) const;
  /// Adds a message to the next frame for the node; it is lost without a connection.
  void gather(const std::string& node, const shard_message& m, bool is_copy);
  [[nodiscard]] std::set<std::string> nodes_with_copies() const;
  void look_at_nodes();
  /// Tells the others of the first ready tasks here, and the shards here of theirs.
  void exchange_heads();
  void show_far_heads();
  void look_at_disk();
  void keep_etcd();
  /// Hands over each shard that is served here to a replica that can take it.
  void hand_over_all();
  [[nodiscard]] replication::replica_id next_primary(shard_id shard, hosted_replica& replica);
  [[nodiscard]] bool has_handed_over() const;
  void
  answer(std::uint64_t inquiry, const cluster::change_end& end, result<cluster_status> told);
  /// Enters a change in the log, and in the audit log of a shard that is served here, once there is
  /// one.
  void note_stored(const cluster_question& stored, const std::string& loss);
  void send_notes();
  [[nodiscard]] std::optional<cluster::own_copy> own_copy_of(const cluster_change& change) const;
  void add_positions(cluster_shard& shard) const;
  void count_copy(
    const replication::shard_replica& replica,
    const cluster::shard_record& record,
    base::cluster_shard_counts& counts);

  replicas_actor::pointer self_ = nullptr;
  replica_hub_options options_;
  base::system_clock clock_{timestamp{}};
  std::shared_ptr<cluster::member_driver> member_;
  std::optional<peer_links> links_;
  ring_memory memory_;
  std::map<shard_id, cluster::shard_record> records_;
  /// The coordinators that are there and do not stop.
  std::set<std::string> staying_;
  neighbour_routes routes_;
  std::optional<head_exchange> heads_;
  std::map<shard_id, std::unique_ptr<hosted_replica>> replicas_;
  /// Counts the hub's own writes.
  std::uint64_t own_writes_ = 0;
  std::map<shard_id, new_replica> building_;
  std::map<shard_id, removal> removals_;
  etcd::header kept_etcd_;
  /// Empty until it was looked at.
  std::optional<cluster::node_disk> disk_;
  bool is_looking_at_disk_ = false;
  bool is_flush_due_ = false;
  std::uint64_t ticks_ = 0;
  std::uint64_t head_looks_ = 0;
  std::uint64_t last_inquiry_ = 0;
  std::map<std::uint64_t, inquiry> inquiries_;
  /// For the audit log, as soon as a shard is served here.
  std::deque<core::note_command> notes_;
  std::optional<caf::typed_response_promise<bool>> stopping_;
  /// The stop ends at this tick although shards have not moved.
  std::uint64_t stops_at_tick_ = 0;
};

[[nodiscard]] replicas_actor::behavior_type drive_replicas(
  replicas_actor::stateful_pointer<replica_hub> self, const replica_hub_options& options);

} // namespace codeq::coordinator
