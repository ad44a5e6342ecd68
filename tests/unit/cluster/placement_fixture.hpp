// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace codeq::cluster {

using replication::replica_id;

/// A cluster whose moves are carried out as soon as they are wanted.
class PlacementTest : public testing::Test {
protected:
  /// Nodes `r0n0`, `r0n1`, ...: so many in each of so many zones.
  void add_nodes(std::size_t zones, std::size_t each) {
    for (std::size_t zone = 0; zone < zones; ++zone)
      for (std::size_t i = 0; i < each; ++i) {
        const auto rack = "r" + std::to_string(zone);
        view_.nodes[rack + "n" + std::to_string(i)] = {rack, node_state::serving};
      }
  }

  /// All shards have their only copy on one node.
  void add_shards(std::size_t count, const std::string& node) {
    for (std::size_t i = 0; i < count; ++i) {
      shard_record shard;
      shard.value.version = 1;
      shard.value.epoch = 1;
      shard.nodes = {{next_id_, node}};
      shard.value.primary = next_id_;
      shard.value.replicas = shard.value.in_sync = {next_id_};
      shard.wanted = {node};
      view_.shards[shard_id{static_cast<std::uint16_t>(i)}] = shard;
      next_id_ = replica_id{static_cast<std::uint64_t>(next_id_) + 1};
    }
  }

  /// Two nodes that have copies of all shards; one of them leads all.
  void add_two_copies(std::size_t shards) {
    view_.copies = 2;
    add_nodes(1, 2);
    add_shards(shards, "r0n0");
    for (auto& [id, shard] : view_.shards) {
      build(shard, "r0n1");
      shard.wanted = {"r0n0", "r0n1"};
    }
  }

  void refuse_tasks(const std::string& node) {
    view_.nodes[node].state = node_state::full;
    view_.nodes[node].refuses_tasks = true;
  }

  std::size_t primaries_on(const std::string& node) const {
    return static_cast<std::size_t>(
      std::count_if(view_.shards.begin(), view_.shards.end(), [&](const auto& one) {
        return node_of(one.second, one.second.value.primary) == node;
      }));
  }

  std::size_t copies_on(const std::string& node) const {
    return static_cast<std::size_t>(
      std::count_if(view_.shards.begin(), view_.shards.end(), [&](const auto& one) {
        return replica_on(one.second, node) != nullptr;
      }));
  }

  std::map<shard_id, shard_record> step() {
    auto changed = place(view_, bounds_);
    for (const auto& [id, shard] : changed)
      view_.shards[id] = shard;
    return changed;
  }

  /// Builds copies that are wanted, removes others, moves primaries. Nodes that are not there do
  /// nothing.
  void carry_out() {
    for (auto& [id, shard] : view_.shards) {
      const auto wanted = shard.wanted;
      for (const auto& node : wanted)
        if (is_there(node) && has_source(shard) && !replica_on(shard, node))
          build(shard, node);
      if (!shard.preferred.empty() && replica_on(shard, shard.preferred))
        shard.value.primary = *replica_on(shard, shard.preferred);
      const auto nodes = shard.nodes;
      for (const auto& [replica, node] : nodes) {
        const auto is_wanted =
          std::binary_search(shard.wanted.begin(), shard.wanted.end(), node);
        if (!is_wanted && replica != shard.value.primary)
          remove(shard, replica);
      }
    }
  }

  void build(shard_record& shard, const std::string& node) {
    shard = with_replica(shard, next_id_, node);
    shard.value.in_sync = shard.value.replicas;
    next_id_ = replica_id{static_cast<std::uint64_t>(next_id_) + 1};
  }

  static void remove(shard_record& shard, replica_id replica) {
    std::erase(shard.value.in_sync, replica);
    shard = without_replica(shard, replica);
  }

  bool is_there(const std::string& node) const {
    const auto state = view_.nodes.at(node).state;
    return state != node_state::missing && state != node_state::gone;
  }

  /// Whether there is a copy in sync from which others can be built.
  bool has_source(const shard_record& shard) const {
    return std::any_of(
      shard.value.in_sync.begin(), shard.value.in_sync.end(), [&](replica_id replica) {
        return is_there(node_of(shard, replica));
      });
  }

  /// Places and carries out until nothing changes. Returns the number of steps.
  std::size_t settle() {
    for (std::size_t steps = 0; steps < 2'000; ++steps) {
      if (step().empty())
        return steps;
      carry_out();
    }
    ADD_FAILURE() << "the placement does not come to rest";
    return 0;
  }

  /// The same; no shard has fewer copies in sync meanwhile.
  void settle_in_sync(std::size_t copies) {
    for (std::size_t steps = 0; steps < 2'000; ++steps) {
      if (step().empty())
        return;
      carry_out();
      for (const auto& [id, shard] : view_.shards)
        ASSERT_GE(shard.value.in_sync.size(), copies) << "shard " << value(id);
    }
    ADD_FAILURE() << "the placement does not come to rest";
  }

  /// A node fails: its replicas drop out of the sets, and others are elected.
  void fail(const std::string& node, node_state state) {
    view_.nodes[node].state = state;
    for (auto& [id, shard] : view_.shards) {
      const auto* replica = replica_on(shard, node);
      if (!replica || shard.value.in_sync.size() < 2)
        continue;
      std::erase(shard.value.in_sync, *replica);
      if (shard.value.primary == *replica)
        shard.value.primary = shard.value.in_sync.front();
    }
  }

  struct spread {
    std::size_t copies_min = 0;
    std::size_t copies_max = 0;
    std::size_t primaries_min = 0;
    std::size_t primaries_max = 0;
    /// Shards with two copies in one zone.
    std::size_t shared_zones = 0;
    /// Shards with another number of copies.
    std::size_t odd = 0;
  };

  spread look() const {
    std::map<std::string, std::size_t> copies;
    std::map<std::string, std::size_t> primaries;
    for (const auto& [name, node] : view_.nodes)
      if (node.state == node_state::serving || node.state == node_state::full)
        copies[name] = primaries[name] = 0;
    spread found;
    for (const auto& [id, shard] : view_.shards) {
      std::set<std::string> zones;
      for (const auto& [replica, node] : shard.nodes) {
        ++copies[node];
        zones.insert(view_.nodes.at(node).zone);
      }
      ++primaries[node_of(shard, shard.value.primary)];
      found.shared_zones += zones.size() < shard.nodes.size() ? 1 : 0;
      found.odd += shard.nodes.size() != view_.copies ? 1 : 0;
    }
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    found.copies_min = std::min_element(copies.begin(), copies.end(), by_count)->second;
    found.copies_max = std::max_element(copies.begin(), copies.end(), by_count)->second;
    found.primaries_min = std::min_element(primaries.begin(), primaries.end(), by_count)->second;
    found.primaries_max = std::max_element(primaries.begin(), primaries.end(), by_count)->second;
    return found;
  }

  placement_view view_;
  placement_bounds bounds_;
  replica_id next_id_{1};
};

} // namespace codeq::cluster
