// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "cluster/asked_change.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/cluster_map.hpp"
#include "cluster/node_watch.hpp"
#include "cluster/placement.hpp"
#include "etcd/messages.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace codeq::cluster {

/// The outside of a `member`. Calls return at once.
class member_port {
public:
  virtual ~member_port() = default;

  // etcd. Each call is answered by the function of `member` that is named here, or never.

  /// `decided` with the same number.
  virtual void decide(std::uint64_t number, const etcd::swap& what) = 0;
  /// `polled`.
  virtual void read(const etcd::key_range& what) = 0;
  /// `granted`.
  virtual void grant(duration length) = 0;
  /// `kept`.
  virtual void keep_alive(std::uint64_t lease) = 0;
  virtual void revoke(std::uint64_t lease) = 0;
  /// A poll has found a change of this revision.
  virtual void note_poll(std::uint64_t modified) = 0;

  // The coordinator.

  /// A shard's record, for its replica here. `is_applied`: it is what the replica had asked for.
  /// May be called within `compare_and_set`, so it has to be passed on, not acted upon.
  virtual void shard_told(shard_id shard, const shard_record& record, bool is_applied) = 0;
  /// A copy of the shard is wanted here: create its data with a new identity, then `replica_built`.
  /// Called again until then. Whatever the disk has of the shard does not count, as a decision of
  /// etcd has told.
  virtual void build_replica(shard_id shard) = 0;
  /// The replica here is not one of the shard's any more, as a decision of etcd has told.
  virtual void drop_replica(shard_id shard, replication::replica_id replica) = 0;
  /// The primary here is to hand over to a replica that is in sync.
  virtual void hand_over(shard_id shard, replication::replica_id to) = 0;
  /// The map has changed.
  virtual void map_changed() = 0;
  /// The format of the cluster's stores. Called when its record is read, and when it changes.
  virtual void store_format_told(std::uint32_t store_format) = 0;
  /// This process has to end: another one has this node's name, or the cluster's records have a
  /// format that this version does not read.
  virtual void must_end(const std::string& words) = 0;
  /// etcd was restored or replaced: no election, and an operator has to look. Called again after a
  /// while.
  virtual void needs_repair(const std::string& words) = 0;
  /// A record of etcd cannot be read, or is not changed, since nobody could read it then: words for
  /// the log, which has each of them once.
  virtual void note_record(const std::string& words) = 0;
};

struct member_options {
  std::string cluster;
  std::string node;
  /// What is told of this node; its version is set here.
  node_record self;
  placement_bounds bounds{};
  /// The replicas that this coordinator has on its disk.
  std::map<shard_id, replication::replica_id> held{};
};

/// The life of one coordinator in its cluster: it registers with a lease and keeps it, follows the
/// catalogue by a watch and by polls, carries the decisions of its replicas to etcd, and places the
/// copies of shards while it is the controller. Pure: it is told the time and what happened, and
/// acts through its port. Suggestions of etcd only ever lead to decisions that compare the value.
class member {
public:
  member(member_options options, member_port& port, monotonic_time now);

  /// Called at least every 100 ms.
  void tick(monotonic_time now);

  // Answers and news of etcd.

  void decided(std::uint64_t number, const etcd::swap_answer& how, monotonic_time now);
  void polled(const result<etcd::range_answer>& found, monotonic_time now);
  void granted(const result<etcd::lease_answer>& lease, monotonic_time now);
  void kept(const result<etcd::lease_answer>& lease, monotonic_time now);
  void watched(const etcd::watch_line& line, monotonic_time now);
  /// Changes may be missing: everything is polled.
  void watch_missed() { needs_full_poll_ = true; }

  // The coordinator.

  /// A replica's compare-and-set. Its end is told by `shard_told`, or never: then it is sent again.
  void compare_and_set(
    shard_id shard,
    const replication::membership& old,
    const replication::membership& next);
  void replica_built(shard_id shard, replication::replica_id replica);
  /// The replica here has begun to serve the shard in this epoch, as a part of this process.
  void serves(shard_id shard, replication::epoch_number epoch);
  /// A replica here that the coordinator has on its disk.
  void holds(shard_id shard, replication::replica_id replica) { held_[shard] = replica; }
  /// Free space is told every `timing::load`, and at once whether tasks are refused.
  void set_disk(const node_disk& disk);
  /// Has etcd store an operator's change, which primaries and the controller then carry out, and
  /// calls `told` once when it is known whether it is stored; for one with an operation that is
  /// known, with the end of the first one. Errors: `invalid_argument`; `overloaded` when another
  /// operator's change came between or too many are under way; `going_away` before etcd has told
  /// the cluster; `disconnected` when etcd cannot be reached, so nothing is stored; `timeout` when
  /// it does not answer, so that the change may be stored, or may yet be. `own`: this node's copy
  /// of the shard whose primary it is to become by force, if it has one.
  void change(
    const cluster_change& wanted,
    const std::optional<own_copy>& own,
    change_told told,
    monotonic_time now);
  /// The coordinator will stop: etcd is told at once, so that no shard is handed to it any more.
  void leave(monotonic_time now);
  /// The coordinator stops now: its lease is given up, so that others need not wait for its end.
  void end();

  [[nodiscard]] const catalogue& known() const { return known_; }

  [[nodiscard]] const cluster_map& map() const { return map_; }

  /// See `view_of`. A node that is missing has the addresses and the zone that it told last, if
  /// this process has learnt them.
  [[nodiscard]] cluster_status view() const;

  /// The lease is kept, and the node is registered.
  [[nodiscard]] bool is_registered() const { return is_registered_; }

  [[nodiscard]] bool has_lease() const { return lease_ != 0; }

  [[nodiscard]] bool is_controller() const;

private:
  /// A decision that is under way.
  struct pending {
    etcd::swap what;
    std::optional<shard_id> replicas_own{};
    /// Null unless it is an operator's.
    std::shared_ptr<asked_change> asked{};
  };

  void note_changes(const std::vector<catalogue_keys::parsed>& changed);
  void note_change(const catalogue_keys::parsed& key);
  void note_shard(shard_id shard, bool is_applied);
  void note_unreadable();
  void update_map(shard_id shard);
  [[nodiscard]] bool start(const std::string& key, etcd::swap what, bool is_replicas);
  /// False when another decision is under way, or the record could not be read.
  bool change_shard(shard_id shard, const shard_record& next);
  void take_decision(
    const pending& decided, const etcd::swap_answer& how, monotonic_time now);
  void forget_nodes();
  [[nodiscard]] result<void> check_asked(const cluster_change& wanted) const;
  [[nodiscard]] std::shared_ptr<asked_change> find_change(const cluster_change& wanted) const;
  void go_on_with_changes(monotonic_time now);
  void go_on(const std::shared_ptr<asked_change>& asked, monotonic_time now);
  void start_step(const std::shared_ptr<asked_change>& asked, const etcd::swap& what);
  void end_step(const pending& decided, const etcd::swap_answer& how, monotonic_time now);
  void settle(shard_id shard);
  void settle_data(shard_id shard);
  void settle_primary(shard_id shard, const shard_record& record);
  void remove_unwanted(shard_id shard, const shard_record& record);

  void keep_lease(monotonic_time now);
  void poll(monotonic_time now);
  void register_node(monotonic_time now);
  void control(monotonic_time now);
  void note_failure(const error& why, monotonic_time now);

  member_options options_;
  member_port& port_;
  catalogue known_;
  cluster_map map_;
  node_record self_;
  node_watch nodes_;
  /// The last record of each node that was there and that the cluster still names.
  std::map<std::string, node_record> last_told_;
  std::map<shard_id, replication::replica_id> held_;
  /// The latest epoch in which a replica of this process has served.
  std::map<shard_id, replication::epoch_number> served_;

  std::uint64_t lease_ = 0;
  bool is_granting_ = false;
  monotonic_time lease_asked_;
  bool is_registered_ = false;
  /// The node's load was told at this time.
  monotonic_time load_told_;
  bool has_registered_once_ = false;
  /// The records that cannot be read as they were told to the log, and those that are not written.
  std::map<std::string, std::string> unreadable_said_;
  std::set<std::string> refused_said_;
  /// `needs_repair` was called last at this time.
  std::optional<monotonic_time> repair_said_;
  /// Superseded, or at its end: nothing is asked any more.
  bool is_over_ = false;

  bool is_polling_ = false;
  bool needs_full_poll_ = true;
  bool is_full_poll_ = false;
  monotonic_time polled_;
  monotonic_time polled_fully_;
  /// All changes up to this revision are known.
  std::uint64_t polled_revision_ = 0;
  /// A complete list was read.
  bool is_complete_ = false;

  monotonic_time controlled_;
  monotonic_time settled_;
  std::uint64_t numbers_ = 0;
  std::map<std::uint64_t, pending> pending_;
  /// Operators' changes: those under way, and the last ones that have ended.
  std::deque<std::shared_ptr<asked_change>> changes_;
  std::set<std::string> busy_keys_;
};

} // namespace codeq::cluster
