// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "placement/large_cluster.hpp"

#include <map>

namespace codeq::cluster::sim {

/// A replica and its disk.
class large_replica final : public replication::replica_port {
public:
  large_replica(
    large_node& node,
    shard_id shard,
    replication::replica_id id,
    const replication::membership& value);

  void send(replication::replica_id to, const replication::message& what) override;
  void save_promise(replication::epoch_number epoch) override;
  void write(const replication::entry& what) override;
  void clear_doubt() override {}

  [[nodiscard]] bool reaches_etcd() const override { return true; }

  replication::log_tail
  read_after(replication::replica_id to, replication::position after) override;
  void begin_copy(replication::replica_id to, replication::epoch_number epoch) override;
  void take_copy(replication::replica_id from, const replication::copy_offer& what) override;
  void compare_and_set(
    const replication::membership& old, const replication::membership& next) override;
  void acknowledge(replication::position at) override;
  void recover(replication::epoch_number epoch, timestamp shard_time) override;
  void drop_recovery() override { ++recoveries_; }

  timestamp shard_time() override { return {}; }

  void serve(replication::epoch_number epoch) override;
  void stop_serving() override {}

  [[nodiscard]] replication::shard_replica& process() { return *process_; }

  [[nodiscard]] replication::replica_id id() const { return id_; }

  void propose();

private:
  template <class Action>
  void after_write(Action action);

  large_node& node_;
  shard_id shard_;
  replication::replica_id id_;
  std::vector<replication::entry> log_;
  std::uint64_t copies_ = 0;
  /// When the delta was proposed, by its number in the current epoch.
  std::map<std::uint64_t, span> proposed_;
  /// Counts the recoveries; the end of an older one is void.
  std::uint64_t recoveries_ = 0;
  std::unique_ptr<replication::shard_replica> process_;
};

/// A coordinator: a member of the cluster, its replicas, and its clock.
class large_node final : public member_port {
public:
  large_node(large_cluster& world, std::size_t index, const std::string& name, std::string zone);

  void start();
  void add_replica(shard_id shard, replication::replica_id id, const shard_record& record);
  void cut_power();

  /// Runs something of this node after a delay, unless it has lost its power.
  template <class Action>
  void run(span delay, Action action);

  [[nodiscard]] bool is_up() const { return is_up_; }

  [[nodiscard]] monotonic_time now() const;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::string& zone() const { return zone_; }

  [[nodiscard]] member& self() { return *member_; }

  [[nodiscard]] large_cluster& world() { return world_; }

  [[nodiscard]] large_replica* replica_of(shard_id shard);
  void propose();

  // Port of the member.
  void decide(std::uint64_t number, const etcd::swap& what) override;
  void read(const etcd::key_range& what) override;
  void grant(duration length) override;
  void keep_alive(std::uint64_t lease) override;
  void revoke(std::uint64_t) override {}
  void note_poll(std::uint64_t) override {}
  void shard_told(shard_id shard, const shard_record& record, bool is_applied) override;
  void build_replica(shard_id) override {}
  void drop_replica(shard_id, replication::replica_id) override {}
  void hand_over(shard_id shard, replication::replica_id to) override;
  void map_changed() override {}
  void store_format_told(std::uint32_t) override {}

  void must_end(const std::string& words) override { world_.fail(words); }
  void needs_repair(const std::string& words) override { world_.fail(words); }
  void note_record(const std::string& words) override { world_.fail(words); }

private:
  void tick();

  large_cluster& world_;
  std::size_t index_;
  std::string name_;
  std::string zone_;
  double rate_;
  bool is_up_ = true;
  std::unique_ptr<member> member_;
  std::map<shard_id, std::unique_ptr<large_replica>> replicas_;
};

template <class Action>
void large_node::run(span delay, Action action) {
  world_.time_.after(delay, [this, action = std::move(action)]() mutable {
    if (is_up_)
      action();
  });
}

} // namespace codeq::cluster::sim
