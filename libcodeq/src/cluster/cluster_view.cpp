// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_view.hpp"

#include "cluster/cluster_timing.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace codeq::cluster {

namespace {

/// All nodes that are there or that a shard names, by name.
std::map<std::string, cluster_node> nodes_of(const catalogue& known) {
  std::map<std::string, cluster_node> nodes;
  for (const auto& [name, node] : known.nodes()) {
    auto& to = nodes[name];
    to.address = node.record.address;
    to.http_address = node.record.http_address;
    to.zone = node.record.zone;
    to.is_present = true;
    to.free_bytes = node.record.free_bytes;
    to.refuses_tasks = node.record.refuses_tasks;
  }
  for (const auto& [shard, known_shard] : known.shards()) {
    for (const auto& [replica, name] : known_shard.record.nodes)
      nodes.try_emplace(name);
    for (const auto& name : known_shard.record.wanted)
      nodes.try_emplace(name);
  }
  if (const auto& cluster = known.cluster())
    for (const auto& name : cluster->record.drained)
      nodes[name].is_draining = true;
  for (auto& [name, node] : nodes)
    node.name = name;
  return nodes;
}

cluster_shard shard_of(shard_id id, const shard_record& record) {
  cluster_shard shard;
  shard.shard = id;
  shard.primary = node_of(record, record.value.primary);
  shard.epoch = record.value.epoch;
  shard.pinned = record.pinned;
  std::map<std::string, cluster_copy> copies;
  for (const auto& [replica, node] : record.nodes)
    copies[node].is_in_sync = replication::contains(record.value.in_sync, replica);
  for (const auto& node : record.wanted)
    copies.try_emplace(node);
  for (auto& [node, copy] : copies) {
    copy.node = node;
    shard.copies.push_back(copy);
  }
  return shard;
}

bool is_present(const cluster_status& status, const std::string& name) {
  return std::any_of(status.nodes.begin(), status.nodes.end(), [&](const cluster_node& node) {
    return node.name == name && node.is_present;
  });
}

bool is_draining(const cluster_status& status, const std::string& name) {
  return std::any_of(status.nodes.begin(), status.nodes.end(), [&](const cluster_node& node) {
    return node.name == name && node.is_draining;
  });
}

bool has_copy(const cluster_shard& shard, const std::string& node) {
  return std::any_of(shard.copies.begin(), shard.copies.end(), [&](const cluster_copy& copy) {
    return copy.node == node;
  });
}

/// Whether a node is free to take another copy of the shard, as the controller sees it.
bool can_be_copied(const cluster_shard& shard, const cluster_status& status) {
  return std::any_of(status.nodes.begin(), status.nodes.end(), [&](const cluster_node& node) {
    const auto has_room = !node.refuses_tasks && node.free_bytes >= timing::free_bytes_min;
    return node.is_present && !node.is_draining && has_room && !has_copy(shard, node.name);
  });
}

/// The next step of a shard whose copies are all in sync, but for those of nodes that are missing
/// and drained; empty: none.
std::string move_wait(const cluster_shard& shard, const cluster_status& status) {
  const auto is_turn = can_be_copied(shard, status);
  for (const auto& copy : shard.copies) {
    if (!is_draining(status, copy.node))
      continue;
    if (shard.copies.size() > status.copies)
      return "the removal of the copy on " + copy.node;
    return is_turn ? "its turn to be copied away from " + copy.node
                   : "a node that can take the copy of " + copy.node + "; add or undrain one";
  }
  if (shard.copies.size() >= status.copies)
    return {};
  return is_turn ? "its turn to get another copy" : "a node that can take another copy";
}

/// The next step of a shard whose primary is missing: only a copy in sync can replace it.
std::string primary_wait(const cluster_shard& shard, const cluster_status& status) {
  std::string missing;
  for (const auto& copy : shard.copies) {
    if (!copy.is_in_sync)
      continue;
    if (is_present(status, copy.node))
      return "another primary, since " + shard.primary + " is missing";
    missing += (missing.empty() ? "" : " or ") + copy.node;
  }
  return missing + ", since no other node has a copy in sync";
}

std::string wait_of(const cluster_shard& shard, const cluster_status& status) {
  if (!is_present(status, shard.primary))
    return primary_wait(shard, status);
  if (shard.primary == status.node && !shard.is_served)
    return "its primary, which takes over";
  // Only the primary knows what its shard waits for. Its answer replaces this one.
  if (shard.primary != status.node)
    return "an answer of " + shard.primary;
  const auto in_sync = std::count_if(
    shard.copies.begin(), shard.copies.end(), [](const auto& copy) { return copy.is_in_sync; });
  if (in_sync < static_cast<std::ptrdiff_t>(status.min_in_sync))
    return std::to_string(status.min_in_sync) + " copies in sync before it takes tasks; there "
           + (in_sync == 1 ? "is " : "are ") + std::to_string(in_sync);
  for (const auto& copy : shard.copies) {
    const auto is_there = is_present(status, copy.node);
    // The copy of a node that is missing and drained is replaced, so nothing waits for that node.
    if (!copy.is_in_sync && (is_there || !is_draining(status, copy.node)))
      return is_there ? "the copy on " + copy.node : copy.node + ", which is missing";
  }
  return move_wait(shard, status);
}

} // namespace

cluster_status
view_of(const catalogue& known, const std::string& cluster, const std::string& node) {
  cluster_status status;
  status.name = cluster;
  status.node = node;
  if (const auto& record = known.cluster()) {
    status.copies = record->record.copies;
    status.min_in_sync = record->record.min_in_sync;
  }
  for (auto& [name, one] : nodes_of(known))
    status.nodes.push_back(std::move(one));
  for (const auto& [id, shard] : known.shards())
    status.shards.push_back(shard_of(id, shard.record));
  return status;
}

std::uint64_t
lag_of(const cluster_shard& shard, const cluster_copy& copy, replication::position latest) {
  return copy.node == shard.primary ? 0
                                    : latest.number - std::min(latest.number, copy.position);
}

void note_waits(cluster_status& status) {
  for (auto& shard : status.shards)
    shard.waits_for = wait_of(shard, status);
}

void note_unreached(
  cluster_status& status, const std::function<bool(const std::string& node)>& reaches) {
  std::vector<std::string> unreached;
  for (const auto& node : status.nodes)
    if (node.is_present && node.name != status.node && !reaches(node.name))
      unreached.push_back(node.name);
  for (auto& node : status.nodes)
    if (node.name == status.node)
      node.unreached = unreached;
}

} // namespace codeq::cluster
