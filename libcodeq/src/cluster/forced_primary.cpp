// SPDX-License-Identifier: Apache-2.0
#include "cluster/forced_primary.hpp"

#include "cluster/refusal.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster {

namespace {

using replication::contains;

/// The nodes of the other members in sync.
std::set<std::string> others_in_sync(const shard_record& record, const std::string& node) {
  std::set<std::string> names;
  for (const auto& [replica, name] : record.nodes)
    if (contains(record.value.in_sync, replica) && name != node)
      names.insert(name);
  return names;
}

std::string list(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string text_of(const replication::position& at) {
  return std::to_string(at.epoch) + "/" + std::to_string(at.number);
}

/// The other nodes that could still serve the shard.
std::set<std::string>
alive(const std::set<std::string>& others, const forced_primary& wanted) {
  std::set<std::string> found;
  for (const auto& name : others)
    if (wanted.present.contains(name) || wanted.own.reachable.contains(name))
      found.insert(name);
  return found;
}

std::string words_of(const std::set<std::string>& others, const std::set<std::string>& alive) {
  const auto words = "lose what " + list(others) + " did not copy";
  return alive.empty() ? words : words + " although " + list(alive) + " lives";
}

std::string named(const forced_primary& wanted) {
  return "the copy of shard " + std::to_string(value(wanted.shard)) + " on `" + wanted.node + "`";
}

result<void> check_copy(const shard_record& record, const forced_primary& wanted) {
  const auto* replica = replica_on(record, wanted.node);
  if (!replica)
    return refused(
      "node `" + wanted.node + "` has no copy of shard " + std::to_string(value(wanted.shard)));
  if (wanted.own.is_incomplete)
    return refused(named(wanted) + " is incomplete, so it cannot serve the shard");
  const auto counts = contains(record.value.in_sync, *replica);
  if (counts && (!wanted.own.is_doubtful || record.value.in_sync.size() == 1))
    return refused(
      named(wanted) + " is in sync, so it needs no force: it takes over by itself, or by "
      + "`cluster move`");
  const auto highest = std::max(record.value.epoch, wanted.own.promised);
  if (highest > replication::forceable_epoch_max)
    return refused(refused_epoch("the shard", highest));
  return {};
}

result<void> check_words(const shard_record& record, const forced_primary& wanted) {
  const auto others = others_in_sync(record, wanted.node);
  const auto living = alive(others, wanted);
  const auto words = words_of(others, living);
  if (wanted.confirm == words)
    return {};
  auto why = named(wanted) + " ends at " + text_of(wanted.own.last) + "; what " + list(others)
             + " acknowledged after that is lost for ever";
  if (!living.empty())
    why += "; " + list(living) + " is alive, so wait for it, or stop it first, since what it still "
           "confirms is lost, too";
  return refused(why + "; to go on nevertheless, confirm it with the words: " + words);
}

} // namespace

result<shard_record> force_primary(const shard_record& record, const forced_primary& wanted) {
  if (auto ok = check_copy(record, wanted); !ok)
    return ok.error();
  if (auto ok = check_words(record, wanted); !ok)
    return ok.error();
  auto next = record;
  next.value = replication::force_primary(
    record.value, *replica_on(record, wanted.node), wanted.own.promised);
  next.is_forced = true;
  next.preferred.clear();
  next.pinned.clear();
  return next;
}

std::string
forced_loss(const shard_record& record, const std::string& node, const own_copy& own) {
  return "lost is what " + list(others_in_sync(record, node)) + " acknowledged after "
         + text_of(own.last);
}

} // namespace codeq::cluster
