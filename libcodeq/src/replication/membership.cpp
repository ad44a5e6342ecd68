// SPDX-License-Identifier: Apache-2.0
#include "replication/membership.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace codeq::replication {

bool contains(const std::vector<replica_id>& set, replica_id replica) {
  return std::find(set.begin(), set.end(), replica) != set.end();
}

membership elect(
  const membership& old,
  replica_id winner,
  std::vector<replica_id> reachable,
  epoch_number epoch) {
  std::sort(reachable.begin(), reachable.end());
  CODEQ_ASSERT(epoch > old.epoch && contains(reachable, winner));
  CODEQ_ASSERT(std::includes(
    old.in_sync.begin(), old.in_sync.end(), reachable.begin(), reachable.end()));
  auto next = old;
  ++next.version;
  next.epoch = epoch;
  next.primary = winner;
  next.in_sync = std::move(reachable);
  next.condition = shard_condition::normal;
  return next;
}

membership force_primary(const membership& old, replica_id replica, epoch_number promised) {
  const auto highest = std::max(old.epoch, promised);
  CODEQ_ASSERT(contains(old.replicas, replica));
  CODEQ_ASSERT(highest <= forceable_epoch_max);
  auto next = old;
  ++next.version;
  next.epoch = highest + forced_epochs;
  next.primary = replica;
  next.in_sync = {replica};
  next.condition = shard_condition::loss_accepted;
  return next;
}

membership remove_member(const membership& old, replica_id member) {
  CODEQ_ASSERT(member != old.primary && contains(old.in_sync, member));
  auto next = old;
  ++next.version;
  std::erase(next.in_sync, member);
  return next;
}

membership add_member(const membership& old, replica_id learner) {
  CODEQ_ASSERT(contains(old.replicas, learner) && !contains(old.in_sync, learner));
  auto next = old;
  ++next.version;
  next.in_sync.insert(
    std::upper_bound(next.in_sync.begin(), next.in_sync.end(), learner), learner);
  return next;
}

} // namespace codeq::replication
