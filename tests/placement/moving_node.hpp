// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/member.hpp"
#include "replication/node.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::cluster::sim {

using replication::sim::span;

class moving_cluster;

/// A coordinator: a disk with replicas, and a process, which ends and starts again, with the member
/// of the cluster and the replicas that ship.
class moving_node final : public member_port {
public:
  using replica = replication::sim::node;

  moving_node(moving_cluster& world, std::size_t index, double rate);

  /// Starts the process, as soon as etcd tells it the state of the cluster.
  void start();
  void kill();
  void cut_power();
  /// Kills the process, and loses the disk.
  void empty_disk();
  void pause(span length);
  void hang_disk(span length);
  void set_tight(bool is_tight);
  /// Stops in order: hands over, and gives up its lease; then `stopped`.
  void stop(const std::function<void()>& stopped);
  /// The connection to etcd is back; changes were missed.
  void reach_etcd();

  /// Puts a replica with an empty history on the disk. @pre the process was not started
  void found(shard_id shard, replication::replica_id id, const shard_record& record);
  void ask(
    const cluster_change& what, const std::optional<own_copy>& own, const change_told& told);
  void compare_and_set(
    shard_id shard,
    const replication::membership& old,
    const replication::membership& next);
  void receive(shard_id shard, replication::replica_id to, const replication::envelope& what);
  void note_served(shard_id shard, replication::epoch_number epoch);
  void note_gone(shard_id shard, replication::replica_id gone);

  /// Where this coordinator sends what is for a replica; empty: nowhere.
  [[nodiscard]] std::string address_of(shard_id shard, replication::replica_id of) const;

  [[nodiscard]] bool is_up() const { return member_ != nullptr; }

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] std::size_t index() const { return index_; }

  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }

  [[nodiscard]] monotonic_time now() const;

  [[nodiscard]] const member& self() const { return *member_; }

  /// The replicas of the process.
  [[nodiscard]] const std::map<shard_id, replica*>& running() const { return running_; }

  /// The replica of a shard that is on the disk, whether it runs or not.
  [[nodiscard]] replica* on_disk(shard_id shard) const;

  /// When the disk lost what was not synced, or everything.
  [[nodiscard]] span lost_at() const { return lost_at_; }

  // Port of the member.
  void decide(std::uint64_t number, const etcd::swap& what) override;
  void read(const etcd::key_range& what) override;
  void grant(duration length) override;
  void keep_alive(std::uint64_t lease) override;
  void revoke(std::uint64_t lease) override;
  void note_poll(std::uint64_t) override {}
  void shard_told(shard_id shard, const shard_record& record, bool is_applied) override;
  void build_replica(shard_id shard) override;
  void drop_replica(shard_id shard, replication::replica_id replica) override;
  void hand_over(shard_id shard, replication::replica_id to) override;
  void map_changed() override {}
  void store_format_told(std::uint32_t) override {}

  void must_end(const std::string& words) override;
  void needs_repair(const std::string& words) override;
  void note_record(const std::string& words) override;

private:
  /// Runs something of this process when it runs; nothing when it has ended in between.
  void run(span delay, std::function<void()> what);
  /// Asks etcd, and gives up after the longest time of a call, as its client does.
  template <class Answer, class Ask>
  void call(
    const Ask& ask,
    const Answer& at_end,
    std::function<void(member&, const Answer&, monotonic_time)> told);
  void enter(std::uint64_t incarnation);
  [[nodiscard]] shard_record entry_record(shard_id shard) const;
  void tick();
  void told(shard_id shard, const shard_record& record, bool is_applied);
  void build(shard_id shard);
  void drop(shard_id shard, replication::replica_id id);
  replica& make(shard_id shard, replication::sim::node_start from);

  moving_cluster& world_;
  std::size_t index_;
  std::string name_;
  double rate_;
  std::uint64_t incarnation_ = 0;
  span paused_until_{};
  span lost_at_{};
  bool is_starting_ = false;
  // The disk. Replicas that were given up stay, since what is under way may name them.
  std::vector<std::unique_ptr<replica>> made_;
  std::map<shard_id, replica*> disk_;
  // The process.
  std::unique_ptr<member> member_;
  std::map<shard_id, replica*> running_;
  std::map<shard_id, shard_record> records_;
};

} // namespace codeq::cluster::sim
