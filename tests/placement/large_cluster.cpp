// SPDX-License-Identifier: Apache-2.0
#include "placement/large_cluster.hpp"

#include "cluster/record_json.hpp"
#include "placement/large_node.hpp"

#include <algorithm>

namespace codeq::cluster::sim {

using namespace std::chrono_literals;
using replication::replica_id;

namespace {

constexpr std::uint64_t replicas_per_shard = 64;
/// Messages of 1,000 that the network loses.
constexpr std::uint64_t lost_permille = 2;

} // namespace

large_cluster::large_cluster(large_cluster_options options)
  : options_(options), random_(options.seed), etcd_(time_, random_.next()) {
  for (std::size_t rack = 0; rack < options_.racks; ++rack)
    for (std::size_t i = 0; i < options_.nodes_per_rack; ++i) {
      const auto zone = "rack-" + std::to_string(rack);
      const auto name = zone + "-" + std::to_string(i);
      nodes_.push_back(std::make_unique<large_node>(*this, nodes_.size(), name, zone));
      by_name_[name] = nodes_.back().get();
    }
  shards_.resize(options_.shards);
  place_shards();
  write_shards();
  etcd_.set_faults(options_.faults);
  for (auto& node : nodes_)
    node->start();
  time_.after(1s, [this] { propose(); });
}

large_cluster::~large_cluster() = default;

/// Places all shards as a controller would, whose wishes are carried out at once.
void large_cluster::place_shards() {
  placement_view view;
  view.copies = options_.copies;
  for (const auto& node : nodes_)
    view.nodes[node->name()] = {node->zone(), node_state::serving};
  for (std::uint16_t i = 0; i < options_.shards; ++i) {
    shard_record shard;
    const replica_id first{i * replicas_per_shard + 1};
    shard.value.version = shard.value.epoch = 1;
    shard.value.primary = first;
    shard.value.replicas = shard.value.in_sync = {first};
    shard.nodes = {{first, nodes_.front()->name()}};
    shard.wanted = {nodes_.front()->name()};
    view.shards[shard_id{i}] = shard;
  }
  const placement_bounds bounds{view.shards.size(), view.shards.size(), view.shards.size()};
  for (auto changed = place(view, bounds); !changed.empty(); changed = place(view, bounds))
    for (auto& [id, shard] : changed) {
      const auto wanted = shard.wanted;
      for (const auto& name : wanted) {
        if (replica_on(shard, name))
          continue;
        const auto next = static_cast<std::uint64_t>(shard.value.replicas.back()) + 1;
        shard = with_replica(shard, replica_id{next}, name);
      }
      if (!shard.preferred.empty())
        shard.value.primary = *replica_on(shard, shard.preferred);
      shard.value.in_sync = shard.value.replicas;
      const auto nodes = shard.nodes;
      for (const auto& [replica, name] : nodes) {
        const auto is_wanted =
          std::binary_search(shard.wanted.begin(), shard.wanted.end(), name);
        if (is_wanted || replica == shard.value.primary)
          continue;
        std::erase(shard.value.in_sync, replica);
        shard = without_replica(shard, replica);
      }
      view.shards[id] = shard;
    }
  placed_ = std::move(view.shards);
}

void large_cluster::write_shards() {
  const catalogue_keys keys("large");
  cluster_record cluster{1, 5, options_.shards, options_.copies, 2, 1, 1, {}, {}};
  etcd_.apply({keys.cluster(), std::nullopt, encode(cluster), 0});
  for (auto& [id, shard] : placed_) {
    shard.value.min_in_sync = 1;
    etcd_.apply({keys.shard(id), std::nullopt, encode(shard), 0});
    for (const auto& [replica, name] : shard.nodes) {
      auto* node = by_name_.at(name);
      homes_[static_cast<std::uint64_t>(replica)] = node;
      node->add_replica(id, replica, shard);
    }
  }
}

shard_id large_cluster::shard_of(replica_id replica) {
  const auto number = (static_cast<std::uint64_t>(replica) - 1) / replicas_per_shard;
  return shard_id{static_cast<std::uint16_t>(number)};
}

void large_cluster::send(replica_id from, replica_id to, replication::envelope what) {
  auto* target = homes_.at(static_cast<std::uint64_t>(to));
  if (!target->is_up() || random_.hits(lost_permille))
    return;
  target->run(random_.moment(50, 1'500), [this, target, to, what = std::move(what)] {
    if (auto* replica = target->replica_of(shard_of(to)))
      replica->process().receive(what, target->now());
  });
}

void large_cluster::propose() {
  for (auto& node : nodes_)
    if (node->is_up())
      node->propose();
  time_.after(100ms, [this] { propose(); });
}

void large_cluster::lose_rack(std::size_t rack) {
  for (std::size_t i = 0; i < options_.nodes_per_rack; ++i)
    nodes_[rack * options_.nodes_per_rack + i]->cut_power();
}

std::size_t large_cluster::primaries_in(std::size_t rack) const {
  const catalogue_keys keys("large");
  std::size_t count = 0;
  for (std::uint16_t i = 0; i < options_.shards; ++i) {
    const auto found = etcd_.list({keys.shard(shard_id{i}), "", 0});
    const auto shard = decode<shard_record>(*found.found.front().value);
    const auto name = node_of(*shard, shard->value.primary);
    count += by_name_.at(name)->zone() == "rack-" + std::to_string(rack) ? 1 : 0;
  }
  return count;
}

std::size_t large_cluster::controllers() const {
  return static_cast<std::size_t>(
    std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
      return node->is_up() && node->self().is_controller();
    }));
}

std::optional<span> large_cluster::run_until_served(span since, span most) {
  const auto end = time_.now() + most;
  while (time_.now() < end) {
    const auto is_served =
      std::all_of(shards_.begin(), shards_.end(), [since](const shard_state& shard) {
        return shard.proposed_at > since;
      });
    if (is_served)
      return time_.now() - since;
    time_.run_until(time_.now() + 10ms);
  }
  return std::nullopt;
}

} // namespace codeq::cluster::sim
