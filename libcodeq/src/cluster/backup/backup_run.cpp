// SPDX-License-Identifier: Apache-2.0
#include "cluster/backup/backup_run.hpp"

#include <algorithm>
#include <string>

namespace codeq::cluster {

namespace {

constexpr const char* make_again = "; what was made is of no use, so make the backup again";

const cluster_copy* copy_of_primary(const cluster_shard& shard) {
  const auto found =
    std::find_if(shard.copies.begin(), shard.copies.end(), [&](const cluster_copy& copy) {
      return copy.node == shard.primary && copy.is_known;
    });
  return found == shard.copies.end() ? nullptr : &*found;
}

/// Null when the node has not told anything.
const backup_status* find(const told_backups& all, const std::string& node) {
  const auto found = std::find_if(
    all.begin(), all.end(), [&](const backup_status& one) { return one.node == node; });
  return found == all.end() ? nullptr : &*found;
}

error gone_node(const std::string& node) {
  return {errc::unavailable, "coordinator " + node + " does not answer any more" + make_again};
}

} // namespace

result<void> check_start(const cluster_status& status, const told_backups& held) {
  for (const auto& node : status.nodes)
    if (node.is_present && !find(held, node.name))
      return error{errc::unavailable, "coordinator " + node.name + " does not answer"};
  for (const auto& one : held) {
    if (one.hold == 0)
      return error{
        errc::unsupported, "coordinator " + one.node + " is too old for a backup of its cluster"};
    if (one.state == backup_state::running)
      return error{errc::already, "coordinator " + one.node + " is making a backup already"};
  }
  for (const auto& shard : status.shards)
    if (!shard.is_served || !copy_of_primary(shard))
      return error{
        errc::unavailable,
        "shard " + std::to_string(value(shard.shard)) + " has no primary that serves it"};
  return {};
}

result<void> check_hold(const told_backups& held, const told_backups& now) {
  for (const auto& one : now)
    if (!find(held, one.node))
      return error{
        errc::unavailable, "coordinator " + one.node + " has joined meanwhile" + make_again};
  for (const auto& before : held) {
    const auto* one = find(now, before.node);
    if (!one)
      return gone_node(before.node);
    if (one->hold != before.hold)
      return error{
        errc::unavailable,
        "coordinator " + before.node + " was started anew, or was out of reach for too long"
          + make_again};
  }
  return {};
}

result<void> check_backups(const told_backups& held, const told_backups& now) {
  for (const auto& before : held) {
    const auto* one = find(now, before.node);
    if (!one)
      return gone_node(before.node);
    if (one->state == backup_state::failed)
      return error{
        errc::unavailable, "the backup of coordinator " + one->node + " failed: " + one->problem};
    if (one->state == backup_state::none)
      return error{
        errc::unavailable, "coordinator " + one->node + " was started anew" + make_again};
  }
  return {};
}

bool are_fixed(const told_backups& now) {
  return std::all_of(now.begin(), now.end(), [](const backup_status& one) { return one.is_fixed; });
}

bool are_running(const told_backups& now) {
  return std::any_of(now.begin(), now.end(), [](const backup_status& one) {
    return one.state == backup_state::running;
  });
}

cluster_backup
whole_of(const cluster_status& status, const told_backups& made, std::uint64_t run) {
  cluster_backup whole{status.name, run, {}, {}};
  for (const auto& one : made)
    if (one.state == backup_state::done)
      whole.parts.push_back({one.node, one.number, one.bytes, one.files});
  for (const auto& shard : status.shards)
    if (const auto* copy = copy_of_primary(shard))
      whole.shards.push_back({shard.shard, copy->epoch, copy->position});
  return whole;
}

} // namespace codeq::cluster
