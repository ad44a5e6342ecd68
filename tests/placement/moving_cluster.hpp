// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "placement/moving_node.hpp"
#include "replication/auditor.hpp"
#include "replication/node.hpp"
#include "support/fake_etcd.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::cluster::sim {

/// How a run behaves, all from its seed.
struct moving_scenario {
  explicit moving_scenario(std::uint64_t seed);

  std::size_t nodes;
  std::uint16_t shards;
  std::uint32_t copies;
  /// Whether writes are confirmed before they are synced, and power cuts lose the last second.
  bool is_os;
  /// The last node joins later, and has no copies.
  bool has_joiner;
  /// One node never comes back.
  bool has_lost_node;
  std::uint64_t loss_permille;
  std::uint64_t late_permille;
  std::uint64_t double_permille;
  /// Upper bounds of the pauses between two faults, and between two changes of an operator.
  std::int64_t fault_pause_ms;
  std::int64_t change_pause_ms;
  test::etcd_faults etcd;
};

/// A cluster whose copies move while its nodes fail: the members, their placement and the replicas
/// that ship, etcd with its defects, disks, and a network. Every random decision comes from one
/// seed.
class moving_cluster final : public replication::sim::surroundings {
public:
  static constexpr auto cluster_name = "moving";
  /// Faults and changes end, and everything is healed but a node that is lost before.
  static constexpr span healed_at = std::chrono::seconds(25);
  static constexpr span lost_at = std::chrono::seconds(19);
  static constexpr span wished_at = std::chrono::seconds(24);

  explicit moving_cluster(std::uint64_t seed);
  ~moving_cluster() override;

  /// Runs load, changes and faults, heals everything, and checks that all shards are served and
  /// have their copies again. Returns the violation, or nothing.
  std::string run();

  struct counts {
    std::size_t acknowledged = 0;
    /// Epochs that were served.
    std::size_t epochs = 0;
    /// Changes that an operator asked for, and those that were stored.
    std::size_t asked = 0;
    std::size_t stored = 0;
    /// Primaries that were made by force.
    std::size_t forced = 0;
    /// Replicas that became members in sync.
    std::size_t added = 0;
    /// From the healing until all shards were served, and until nothing was left to be done.
    span served_after{};
    span settled_after{};
  };

  [[nodiscard]] counts counted() const;

  // The parts that all nodes use.

  [[nodiscard]] test::fake_etcd& etcd() { return etcd_; }

  /// The shard's record in etcd, now and a while ago.
  [[nodiscard]] const shard_record& record(shard_id shard) const;
  [[nodiscard]] const shard_record& record_before(shard_id shard, span ago) const;
  void note_replica(shard_id shard, moving_node& home, moving_node::replica& made);
  void note_power_cut(const moving_node& node);
  /// A decision is on its way to etcd.
  void note_asked(const etcd::swap& what);
  void fail(const std::string& what);

  // Surroundings of the replicas.

  replication::sim::auditor& audit_of(const moving_node::replica& whose) override;

  [[nodiscard]] bool is_os() const override { return scenario_.is_os; }

  void send(
    const moving_node::replica& from,
    replication::replica_id to,
    replication::envelope what) override;
  void compare_and_set(
    const moving_node::replica& from,
    const replication::membership& old,
    const replication::membership& next) override;
  void ended(const moving_node::replica& gone) override;
  void served(const moving_node::replica& by) override;
  void acknowledged(const moving_node::replica& by, replication::position at) override;

private:
  struct home {
    shard_id shard{};
    moving_node* node = nullptr;
    moving_node::replica* replica = nullptr;
  };

  struct shard_state {
    replication::sim::auditor audit;
    /// All records that etcd had, and since when.
    std::vector<std::pair<span, shard_record>> records;
    /// The members of the set when a node lost its power, but those that somebody had asked to
    /// remove.
    std::map<std::string, std::vector<replication::replica_id>> sets_at_cut;
    /// Until when a removal that was asked for may be decided.
    std::map<replication::replica_id, span> leaving;
  };

  struct asked {
    cluster_change what;
    std::size_t node = 0;
    std::uint64_t incarnation = 0;
    bool is_told = false;
  };

  // Beginning.
  void found_shards();
  void make_load();

  // Judgement.
  void note_record(const etcd::entry& changed);
  void check_record(shard_state& shard, const shard_record& before, const shard_record& after);
  void check_wanted(const shard_record& before, const shard_record& after);
  void note_winner(shard_state& shard, const shard_record& before, const shard_record& after);
  void check_loss(const shard_state& shard, const shard_record& before, const shard_record& after);
  void check_members(const shard_state& shard, const shard_record& record);
  /// The members that nobody has asked to remove.
  [[nodiscard]] std::vector<replication::replica_id> sure_members(const shard_state& shard) const;
  void check_answers();
  [[nodiscard]] bool is_served(const shard_record& record) const;
  [[nodiscard]] std::string unserved() const;
  /// Names the first thing that is not as it has to be at the end; empty: there is none.
  [[nodiscard]] std::string unsettled() const;
  [[nodiscard]] std::string unsettled(shard_id shard) const;
  [[nodiscard]] std::string untold() const;
  /// Runs until nothing is said to be missing. Returns what is missing at the end.
  std::string run_until(std::string (moving_cluster::*missing)() const, span most);
  void step(span length);

  // Faults, in moving_faults.cpp.
  void make_fault();
  /// A node is lost, for ever if others have what it has.
  void lose_node();
  void start(std::size_t index);
  void disturb(std::size_t index);
  void crash(std::size_t index, span length);
  void cut(std::size_t from, std::size_t to, bool is_both, span length);
  void isolate(std::size_t index, span length);
  void cut_etcd(std::size_t index, bool is_all, span length);
  void fill_disk(std::size_t index, span length);
  [[nodiscard]] bool may_lose_disk(std::size_t index) const;
  void make_change();
  void cut_wished_primary();
  [[nodiscard]] cluster_change random_change();
  void ask(std::size_t index, const cluster_change& what);
  void note_end(asked& one, const change_end& end);
  void force_primary();
  [[nodiscard]] std::optional<own_copy>
  own_copy_of(const moving_node& node, const cluster_change& what) const;
  void heal();
  /// A random length of a fault, which ends before the healing.
  [[nodiscard]] span length_of_fault();

  moving_scenario scenario_;
  test::fake_etcd etcd_;
  catalogue_keys keys_;
  std::vector<std::unique_ptr<moving_node>> nodes_;
  std::vector<shard_state> shards_;
  std::map<replication::replica_id, home> homes_;
  std::set<std::string> drained_;
  /// Whether messages from one node reach another.
  std::vector<std::vector<bool>> is_cut_;
  /// Not started again before the healing; and if it is lost for ever.
  std::optional<std::size_t> down_node_;
  std::optional<std::size_t> lost_node_;
  std::deque<asked> asked_;
  counts counts_;
  std::uint64_t deltas_ = 0;
  bool is_healed_ = false;
  std::string violation_;
};

} // namespace codeq::cluster::sim
