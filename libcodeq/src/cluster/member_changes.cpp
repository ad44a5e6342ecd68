// SPDX-License-Identifier: Apache-2.0
// The part of `member` that answers an operator.
#include "cluster/cluster_view.hpp"
#include "cluster/member.hpp"
#include "cluster/record_json.hpp"

#include <algorithm>

namespace codeq::cluster {

namespace {

error refused(std::string words) {
  return {errc::invalid_argument, std::move(words)};
}

error is_busy() {
  return {errc::overloaded, "another change of it is under way; ask again"};
}

/// The nodes that hold a copy in sync, for a message.
std::string in_sync_nodes(const shard_record& shard) {
  std::string names;
  for (const auto& [replica, node] : shard.nodes)
    if (replication::contains(shard.value.in_sync, replica))
      names += (names.empty() ? "" : ", ") + node;
  return names;
}

} // namespace

cluster_status member::view() const {
  return view_of(known_, options_.cluster, options_.node);
}

result<void> member::change(const cluster_change& wanted) {
  if (!is_complete_ || !known_.cluster())
    return error{errc::going_away, "etcd has not told the state of the cluster yet"};
  switch (wanted.what) {
  case cluster_change::kind::none:
    return {};
  case cluster_change::kind::move:
    return move_primary(wanted.shard, wanted.node);
  case cluster_change::kind::drain:
    return set_drained(wanted.node, true);
  case cluster_change::kind::undrain:
    return set_drained(wanted.node, false);
  case cluster_change::kind::balance:
    return forget_moves();
  }
  return refused("an unknown change");
}

result<void> member::move_primary(shard_id shard, const std::string& node) {
  const auto found = known_.shards().find(shard);
  if (found == known_.shards().end())
    return refused(
      "shard is " + std::to_string(codeq::value(shard)) + "; it must be 0.."
      + std::to_string(known_.cluster()->record.shards - 1));
  const auto& record = found->second.record;
  const auto* replica = replica_on(record, node);
  if (!replica || !replication::contains(record.value.in_sync, *replica))
    return refused(
      "node `" + node + "` has no copy of shard " + std::to_string(codeq::value(shard))
      + " that is in sync; the nodes that have one: " + in_sync_nodes(record));
  auto next = record;
  ++next.value.version;
  next.pinned = node;
  next.preferred = record.value.primary == *replica ? std::string() : node;
  if (next.pinned == record.pinned && next.preferred == record.preferred)
    return {};
  return change_shard(shard, next) ? result<void>{} : is_busy();
}

result<void> member::set_drained(const std::string& node, bool is_drained) {
  const auto& known = *known_.cluster();
  auto next = known.record;
  const auto at = std::lower_bound(next.drained.begin(), next.drained.end(), node);
  const auto was_drained = at != next.drained.end() && *at == node;
  if (was_drained == is_drained)
    return {};
  const auto is_named =
    std::any_of(known_.shards().begin(), known_.shards().end(), [&](const auto& shard) {
      return replica_on(shard.second.record, node) != nullptr;
    });
  if (is_drained && !is_named && !known_.nodes().contains(node))
    return refused("node `" + node + "` is not one of the cluster");
  if (is_drained)
    next.drained.insert(at, node);
  else
    next.drained.erase(at);
  ++next.version;
  const auto key = known_.keys().cluster();
  return start(key, {key, known.bytes, encode(next), 0}, false) ? result<void>{} : is_busy();
}

result<void> member::forget_moves() {
  for (const auto& [shard, known] : known_.shards()) {
    auto next = known.record;
    if (next.pinned.empty())
      continue;
    ++next.value.version;
    next.pinned.clear();
    if (!change_shard(shard, next))
      return is_busy();
  }
  return {};
}

} // namespace codeq::cluster
