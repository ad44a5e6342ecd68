// SPDX-License-Identifier: Apache-2.0
#include "cluster/asked_change.hpp"

#include "cluster/record_json.hpp"
#include "cluster/refusal.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster {

namespace {

using next_result = result<std::optional<etcd::swap>>;

/// The nodes that hold a copy in sync, for a message.
std::string in_sync_list(const shard_record& shard) {
  std::string names;
  for (const auto& [replica, node] : shard.nodes)
    if (replication::contains(shard.value.in_sync, replica))
      names += (names.empty() ? "" : ", ") + node;
  return names;
}

etcd::swap swap_to(const std::string& key, const std::string& known, const std::string& next) {
  return {key, known, next, 0};
}

const known_record<shard_record>* find_shard(const catalogue& known, const std::string& key) {
  const auto parsed = known.keys().parse(key);
  const auto* shard = std::get_if<catalogue_keys::shard_key>(&parsed);
  const auto found = shard ? known.shards().find(shard->number) : known.shards().end();
  return found == known.shards().end() ? nullptr : &found->second;
}

/// Another operator's move came between. Whether this change was stored before it does not matter.
error superseded(const cluster_change& what, const shard_record& shard) {
  const auto words =
    shard.pinned.empty() ? std::string("was balanced") : "was moved to `" + shard.pinned + "`";
  return {
    errc::overloaded,
    "`cluster " + to_string(what) + "` does not hold, since a shard " + words
      + " by another command meanwhile; look at `cluster status` and ask again"};
}

bool is_drained(const catalogue& known, const std::string& node) {
  const auto& drained = known.cluster()->record.drained;
  return std::binary_search(drained.begin(), drained.end(), node);
}

/// Whether the node is one that `view_of` shows.
bool is_named(const catalogue& known, const std::string& node) {
  return known.nodes().contains(node) || is_drained(known, node)
         || std::any_of(known.shards().begin(), known.shards().end(), [&](const auto& shard) {
              const auto& record = shard.second.record;
              return replica_on(record, node) != nullptr
                     || std::binary_search(record.wanted.begin(), record.wanted.end(), node);
            });
}

/// An undrain that takes a node out of the cluster ends here when it is given again, so the text
/// says that there is nothing to undrain.
error unknown_node(const cluster_change& what) {
  using kind = cluster_change::kind;
  const auto so = what.what == kind::undrain ? ", so there is nothing to undrain"
                  : what.what == kind::drain ? ", so there is nothing to drain"
                                             : "";
  return refused(
    "node `" + what.node + "` is not one of the cluster, and not drained" + so
    + "; `cluster status` shows all");
}

/// The controller has ended an operator's move to a node, since that is drained or has lost its
/// copy.
bool has_lapsed(const catalogue& all, const shard_record& record, const std::string& pinned) {
  const auto is_wanted = std::binary_search(record.wanted.begin(), record.wanted.end(), pinned);
  return record.pinned.empty() && (is_drained(all, pinned) || !is_wanted);
}

/// The first reason why an operator cannot make the node the primary of the shard.
result<void>
check_move(const catalogue& all, const shard_record& record, const cluster_change& move) {
  const auto& node = move.node;
  if (!is_named(all, node))
    return unknown_node(move);
  if (is_drained(all, node))
    return refused(
      "node `" + node + "` is drained, so the shard would not stay there; `cluster undrain "
      + node + "` first");
  if (!all.nodes().contains(node))
    return refused("node `" + node + "` is missing; start it first");
  const auto* replica = replica_on(record, node);
  if (!replica || !replication::contains(record.value.in_sync, *replica))
    return refused(
      "node `" + node + "` has no copy of shard " + std::to_string(value(move.shard))
      + " that is in sync; the nodes that have one: " + in_sync_list(record));
  return {};
}

next_result next_move(
  const catalogue& all,
  const known_record<shard_record>& known,
  const asked_change& asked,
  const std::string& key) {
  const auto& record = known.record;
  const auto& node = asked.what.node;
  const auto* replica = replica_on(record, node);
  const auto is_primary = replica && record.value.primary == *replica;
  if (record.pinned == node && (is_primary || record.preferred == node))
    return std::optional<etcd::swap>();
  const auto& before = asked.steps.at(key).pinned;
  const auto is_other = record.pinned != before && record.pinned != node;
  if (is_other && !has_lapsed(all, record, before))
    return superseded(asked.what, record);
  if (const auto ok = check_move(all, record, asked.what); !ok)
    return ok.error();
  auto next = record;
  ++next.value.version;
  next.pinned = node;
  next.preferred = is_primary ? std::string() : node;
  return std::optional(swap_to(key, known.bytes, encode(next)));
}

next_result next_unpinned(
  const known_record<shard_record>& known, const asked_change& asked, const std::string& key) {
  if (known.record.pinned.empty())
    return std::optional<etcd::swap>();
  if (known.record.pinned != asked.steps.at(key).pinned)
    return superseded(asked.what, known.record);
  auto next = known.record;
  ++next.value.version;
  next.pinned.clear();
  return std::optional(swap_to(key, known.bytes, encode(next)));
}

next_result next_forced(
  const catalogue& all,
  const known_record<shard_record>& known,
  const asked_change& asked,
  const std::string& key) {
  const auto& what = asked.what;
  const auto& record = known.record;
  if (record.is_forced && node_of(record, record.value.primary) == what.node)
    return std::optional<etcd::swap>();
  forced_primary wanted{what.shard, what.node, *asked.own, {}, what.confirm};
  for (const auto& [name, node] : all.nodes())
    wanted.present.insert(name);
  const auto next = force_primary(record, wanted);
  if (!next)
    return next.error();
  return std::optional(swap_to(key, known.bytes, encode(*next)));
}

next_result next_drained(const catalogue& known, const cluster_change& what) {
  const auto is_drain = what.what == cluster_change::kind::drain;
  if (is_drained(known, what.node) == is_drain)
    return std::optional<etcd::swap>();
  auto next = known.cluster()->record;
  const auto at = std::lower_bound(next.drained.begin(), next.drained.end(), what.node);
  if (is_drain && next.drained.size() >= drained_max)
    return refused(
      "node `" + what.node + "` would be one more than the " + std::to_string(drained_max)
      + " that may be drained; `cluster undrain` those that are gone for good");
  if (is_drain)
    next.drained.insert(at, what.node);
  else
    next.drained.erase(at);
  ++next.version;
  return std::optional(swap_to(known.keys().cluster(), known.cluster()->bytes, encode(next)));
}

} // namespace

void asked_change::fail(const error& why) {
  if (end.how)
    end.how = why;
  std::erase_if(steps, [](const auto& one) { return !one.second.is_sent; });
}

void asked_change::tell_end() {
  if (!steps.empty())
    return;
  for (const auto& to : std::exchange(told, {})) {
    const auto said = end;
    // The others, also later ones, must not enter it anywhere again.
    end.is_stored = false;
    to(said);
  }
}

result<asked_change> begin_change(
  const catalogue& known, const cluster_change& what, const std::optional<own_copy>& own) {
  using kind = cluster_change::kind;
  asked_change asked;
  asked.what = what;
  asked.own = own;
  const auto is_of_shard = what.what == kind::move || what.what == kind::force_primary;
  const auto add_shard = [&](shard_id shard) {
    asked.steps[known.keys().shard(shard)].pinned = known.shards().at(shard).record.pinned;
  };
  const auto is_of_node = what.what == kind::drain || what.what == kind::undrain;
  // Only now: an undrain that is stored takes a node that is gone out of the cluster.
  if (is_of_node && !is_named(known, what.node))
    return unknown_node(what);
  if (is_of_node)
    asked.steps[known.keys().cluster()] = {};
  if (is_of_shard && !known.shards().contains(what.shard))
    return refused(
      "shard is " + std::to_string(value(what.shard)) + "; it must be 0.."
      + std::to_string(known.cluster()->record.shards - 1));
  if (what.what == kind::force_primary && !own)
    return refused(
      "node `" + what.node + "` has no copy of shard " + std::to_string(value(what.shard)));
  if (what.what == kind::force_primary)
    asked.end.loss = forced_loss(known.shards().at(what.shard).record, what.node, *own);
  if (is_of_shard)
    add_shard(what.shard);
  if (what.what == kind::balance)
    for (const auto& [shard, one] : known.shards())
      if (!one.record.pinned.empty())
        add_shard(shard);
  return asked;
}

next_result
next_swap(const catalogue& known, const asked_change& asked, const std::string& key) {
  const auto* shard = find_shard(known, key);
  if (!shard)
    return next_drained(known, asked.what);
  if (asked.what.what == cluster_change::kind::force_primary)
    return next_forced(known, *shard, asked, key);
  return asked.what.what == cluster_change::kind::move ? next_move(known, *shard, asked, key)
                                                       : next_unpinned(*shard, asked, key);
}

error failed_change(const etcd::swap_answer& how) {
  if (how.end == etcd::swap_end::not_sent)
    return {
      errc::disconnected, "no member of etcd can be reached, so nothing is stored: " + how.words};
  return {
    errc::timeout,
    "etcd does not answer, so the change may be stored, or may yet be; the same command, given "
    "again, finds out: "
      + how.words};
}

} // namespace codeq::cluster
