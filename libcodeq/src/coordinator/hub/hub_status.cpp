// SPDX-License-Identifier: Apache-2.0
// The part of `replica_hub` that tells an operator the state of the cluster.
#include "cluster/cluster_view.hpp"
#include "coordinator/hub/replica_hub.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

namespace {

/// What this coordinator is to a shard of which it has a copy.
base::shard_role role_of(
  const replication::membership& value, replication::replica_id self, bool is_serving) {
  if (value.primary == self)
    return is_serving ? base::shard_role::primary : base::shard_role::starting;
  return replication::contains(value.in_sync, self) ? base::shard_role::in_sync
                                                    : base::shard_role::learner;
}

std::uint64_t changes_between(replication::position from, replication::position to) {
  return to.number - std::min(to.number, from.number);
}

} // namespace

caf::result<cluster_told> replica_hub::inquire(const cluster_question& m) {
  if (!member_)
    return cluster_told{error{errc::going_away, "this coordinator has yet to join its cluster"}};
  auto promise = self_->make_response_promise<cluster_told>();
  const auto inquiry = ++last_inquiry_;
  inquiries_.emplace(inquiry, promise);
  member_->change(
    m.change,
    [to = caf::actor_cast<replicas_actor>(self_), inquiry](result<cluster_status> told) {
      auto answer = [inquiry, told = std::move(told)](replica_hub& hub) {
        hub.answer(inquiry, told);
      };
      caf::anon_send(to, replica_step{std::move(answer)});
    });
  return promise;
}

void replica_hub::answer(std::uint64_t inquiry, result<cluster_status> told) {
  auto asked = inquiries_.extract(inquiry);
  if (told) {
    for (auto& shard : told->shards)
      add_positions(shard);
    cluster::note_waits(*told);
  }
  asked.mapped().deliver(cluster_told{std::move(told)});
}

void replica_hub::add_positions(cluster_shard& shard) const {
  const auto found = replicas_.find(shard.shard);
  const auto record = records_.find(shard.shard);
  if (found == replicas_.end() || record == records_.end())
    return;
  const auto& replica = found->second->driver().replica();
  const auto is_primary = shard.primary == options_.links.node;
  shard.is_served = is_primary && replica.is_serving();
  for (auto& copy : shard.copies) {
    const auto* id = cluster::replica_on(record->second, copy.node);
    const auto at = id ? replica.position_of(*id) : std::nullopt;
    if (!at)
      continue;
    copy.is_known = true;
    copy.epoch = at->epoch;
    copy.position = at->number;
    copy.lag = is_primary ? changes_between(*at, replica.latest()) : 0;
  }
}

cluster_shards_told replica_hub::count_shards() {
  cluster_shards_told told;
  for (const auto& [shard, record] : records_) {
    auto& counts = told.shards.emplace_back();
    counts.shard = value(shard);
    counts.epoch = record.value.epoch;
    counts.copies = static_cast<std::uint32_t>(record.value.replicas.size());
    counts.copies_in_sync = static_cast<std::uint32_t>(record.value.in_sync.size());
    counts.copies_needed = record.value.min_in_sync;
    if (const auto found = replicas_.find(shard); found != replicas_.end())
      count_copy(found->second->driver().replica(), record, counts);
  }
  return told;
}

void replica_hub::count_copy(
  const replication::shard_replica& replica,
  const cluster::shard_record& record,
  base::cluster_shard_counts& counts) {
  const auto at = now();
  counts.role = role_of(record.value, replica.id(), replica.is_serving());
  counts.without_primary = replica.primaries().lasts(at);
  counts.without_primary_total = replica.primaries().total(at);
  for (const auto& [other, node] : record.nodes)
    if (const auto lasts = replica.lag_of(other, at))
      counts.lags.push_back(
        {node, changes_between(*replica.position_of(other), replica.latest()), *lasts});
}

} // namespace codeq::coordinator
