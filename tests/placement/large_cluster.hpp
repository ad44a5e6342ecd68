// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/member.hpp"
#include "replication/shard_replica.hpp"
#include "replication/timeline.hpp"
#include "sim/chance.hpp"
#include "support/fake_etcd.hpp"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::cluster::sim {

using replication::sim::span;

struct large_cluster_options {
  std::uint64_t seed = 1;
  std::size_t racks = 10;
  std::size_t nodes_per_rack = 10;
  std::uint16_t shards = 1024;
  std::uint32_t copies = 3;
  /// Reported by all nodes together, as a load.
  std::size_t workers = 10'000;
  test::etcd_faults faults{};
};

class large_node;
class large_replica;

/// A whole cluster under virtual time: the members and the replicas that ship, etcd with its
/// defects, and a network that loses messages. Every random decision comes from one seed.
class large_cluster {
public:
  explicit large_cluster(large_cluster_options options);
  ~large_cluster();
  large_cluster(const large_cluster&) = delete;
  large_cluster& operator=(const large_cluster&) = delete;

  void run(span length) { time_.run_until(time_.now() + length); }

  /// Runs until each shard has acknowledged a delta that was proposed after `since`. Returns when
  /// the last one did, or nothing when that takes longer than `most`.
  std::optional<span> run_until_served(span since, span most);

  /// All nodes of a rack lose their power, and do not come back.
  void lose_rack(std::size_t rack);

  /// Shards of which a node of the rack is the primary.
  [[nodiscard]] std::size_t primaries_in(std::size_t rack) const;

  [[nodiscard]] span now() const { return time_.now(); }

  [[nodiscard]] const test::fake_etcd& etcd() const { return etcd_; }

  [[nodiscard]] std::size_t controllers() const;

  /// Deltas that were acknowledged, and that are not in the log of a later primary.
  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }

  [[nodiscard]] const std::string& violation() const { return violation_; }

  [[nodiscard]] const large_cluster_options& options() const { return options_; }

private:
  friend class large_node;
  friend class large_replica;

  struct shard_state {
    /// The last delta that was acknowledged, and when it was proposed.
    replication::position acknowledged;
    span proposed_at{};
    /// The highest epoch that was served.
    replication::epoch_number served = 0;
  };

  void place_shards();
  void write_shards();
  void send(replication::replica_id from, replication::replica_id to, replication::envelope what);
  void propose();
  [[nodiscard]] static shard_id shard_of(replication::replica_id replica);
  void fail(const std::string& what) {
    if (violation_.empty())
      violation_ = what;
  }

  large_cluster_options options_;
  codeq::sim::chance random_;
  replication::sim::timeline time_;
  test::fake_etcd etcd_;
  std::vector<std::unique_ptr<large_node>> nodes_;
  std::map<std::string, large_node*> by_name_;
  std::map<shard_id, shard_record> placed_;
  std::vector<shard_state> shards_;
  std::unordered_map<std::uint64_t, large_node*> homes_;
  std::map<replication::copy_id, std::vector<replication::entry>> copies_;
  std::size_t acknowledged_ = 0;
  std::string violation_;
};

} // namespace codeq::cluster::sim
