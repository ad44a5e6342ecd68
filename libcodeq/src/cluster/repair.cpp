// SPDX-License-Identifier: Apache-2.0
#include "cluster/repair.hpp"

#include "cluster/founding.hpp"
#include "cluster/refusal.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster {

namespace {

using replication::epoch_number;

std::string list_nodes(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::set<std::string> names_of(const std::vector<node_facts>& nodes) {
  std::set<std::string> names;
  for (const auto& one : nodes)
    names.insert(one.node);
  return names;
}

/// All nodes that somebody knows.
std::set<std::string> known_nodes(const repair_input& from) {
  std::set<std::string> names;
  for (const auto& one : from.nodes)
    names.insert(one.nodes.begin(), one.nodes.end());
  for (const auto& [shard, record] : from.shards)
    for (const auto& [replica, node] : record.nodes)
      names.insert(node);
  return names;
}

result<void> check_nodes(const repair_input& from) {
  const auto named = names_of(from.nodes);
  if (from.nodes.empty() || named.size() != from.nodes.size())
    return refused(from.nodes.empty() ? "no coordinator has told what it has"
                                      : "two of the files are of the same node");
  for (const auto& name : from.without)
    if (named.contains(name))
      return refused("node `" + name + "` has told what it has, so it is not left out");
  std::set<std::string> missing;
  for (const auto& name : known_nodes(from))
    if (!named.contains(name) && !from.without.contains(name))
      missing.insert(name);
  if (missing.empty())
    return {};
  return refused(
    "what " + list_nodes(missing) + " has is not told; what only it has would be lost: tell it, or "
    + "name it with --without");
}

result<cluster_record> plan_cluster(const repair_input& from) {
  cluster_record next;
  if (from.cluster) {
    next = *from.cluster;
  } else {
    const auto& first = from.nodes.front();
    next.identity = first.identity;
    next.shards = first.shards;
    next.copies = first.copies;
    next.min_in_sync = first.min_in_sync;
  }
  ++next.version;
  for (const auto& one : from.nodes)
    if (one.identity != next.identity || one.shards != next.shards)
      return refused(
        "node `" + one.node + "` is of another cluster: it has " + std::to_string(one.shards)
        + " shards, and " + std::to_string(next.shards) + " are expected, or another identity");
  return next;
}

/// The copies of one shard, by node.
std::map<std::string, copy_facts> copies_of(const repair_input& from, shard_id shard) {
  std::map<std::string, copy_facts> copies;
  for (const auto& one : from.nodes)
    if (const auto found = one.held.find(shard); found != one.held.end())
      copies.emplace(one.node, found->second);
  return copies;
}

/// The largest of all epochs, also of copies that do not count.
epoch_number highest_epoch(const std::map<std::string, copy_facts>& copies, epoch_number known) {
  auto highest = known;
  for (const auto& [node, copy] : copies)
    highest = std::max({highest, copy.promised, copy.last.epoch});
  return highest;
}

/// Adds the complete copies; those with the largest position are in sync.
void add_copies(shard_record& to, const std::map<std::string, copy_facts>& copies) {
  replication::position largest;
  for (const auto& [node, copy] : copies)
    if (!copy.is_incomplete)
      largest = std::max(largest, copy.last);
  auto& value = to.value;
  value.condition = replication::shard_condition::loss_accepted;
  for (const auto& [node, copy] : copies) {
    if (copy.is_incomplete)
      continue;
    to.nodes.emplace(copy.id, node);
    to.wanted.push_back(node);
    if (copy.last != largest)
      continue;
    const auto is_first = value.in_sync.empty();
    value.in_sync.push_back(copy.id);
    const auto is_sound = value.condition == replication::shard_condition::normal;
    if (is_first || (!is_sound && !copy.is_doubtful))
      value.primary = copy.id;
    if (!copy.is_doubtful)
      value.condition = replication::shard_condition::normal;
  }
  std::sort(value.in_sync.begin(), value.in_sync.end());
  for (const auto& [replica, node] : to.nodes)
    value.replicas.push_back(replica);
}

result<shard_record>
plan_shard(const repair_input& from, shard_id shard, std::uint32_t min_in_sync) {
  const auto found = from.shards.find(shard);
  const auto* known = found == from.shards.end() ? nullptr : &found->second;
  const auto copies = copies_of(from, shard);
  const auto name = "shard " + std::to_string(value(shard));
  const auto highest = highest_epoch(copies, known ? known->value.epoch : 0);
  if (highest > replication::forceable_epoch_max)
    return refused(refused_epoch(name, highest));
  shard_record next;
  next.value.epoch = highest + replication::forced_epochs;
  next.value.version = known ? known->value.version + 1 : first_version(next.value.epoch);
  next.value.min_in_sync = min_in_sync;
  add_copies(next, copies);
  if (next.value.in_sync.empty())
    return refused(name + " has no complete copy on the nodes that have told what they have");
  if (next.nodes.size() != next.wanted.size())
    return refused(name + " has the same copy on two nodes");
  return next;
}

} // namespace

result<repair_plan> plan_repair(const repair_input& from) {
  if (auto ok = check_nodes(from); !ok)
    return ok.error();
  auto cluster = plan_cluster(from);
  if (!cluster)
    return cluster.error();
  repair_plan plan;
  plan.cluster = std::move(*cluster);
  for (std::uint32_t i = 0; i < plan.cluster.shards; ++i) {
    const auto shard = static_cast<shard_id>(i);
    auto next = plan_shard(from, shard, plan.cluster.min_in_sync);
    if (!next)
      return next.error();
    plan.shards.emplace(shard, std::move(*next));
  }
  plan.words = "take what " + list_nodes(names_of(from.nodes)) + " has";
  if (!from.without.empty())
    plan.words += " without " + list_nodes(from.without);
  return plan;
}

} // namespace codeq::cluster
