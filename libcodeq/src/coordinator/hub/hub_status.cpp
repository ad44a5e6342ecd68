// SPDX-License-Identifier: Apache-2.0
// The part of `replica_hub` that tells an operator the state of the cluster.
#include "cluster/cluster_view.hpp"
#include "coordinator/hub/replica_hub.hpp"
#include "observe/log.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

namespace {

/// Entries for the audit log that wait until a shard is served here.
constexpr std::size_t notes_max = 64;

/// The role of this coordinator for a shard of which it has a copy.
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
  const auto number = ++last_inquiry_;
  inquiries_.emplace(number, inquiry{m, promise});
  member_->change(
    m.change,
    own_copy_of(m.change),
    [to = caf::actor_cast<replicas_actor>(self_), number](
      const cluster::change_end& end, result<cluster_status> told) {
      auto answer = [number, end, told = std::move(told)](replica_hub& hub) {
        hub.answer(number, end, told);
      };
      caf::anon_send(to, replica_step{std::move(answer)});
    });
  return promise;
}

std::optional<cluster::own_copy>
replica_hub::own_copy_of(const cluster_change& change) const {
  const auto found = replicas_.find(change.shard);
  const auto record = records_.find(change.shard);
  if (change.what != cluster_change::kind::force_primary || found == replicas_.end()
      || record == records_.end() || !record->second.nodes.contains(found->second->id()))
    return std::nullopt;
  const auto& replica = found->second->driver().replica();
  cluster::own_copy own{
    replica.promised(), replica.log().last(), replica.is_doubtful(), replica.is_incomplete()};
  for (const auto& [id, node] : record->second.nodes)
    if (links_->reaches(node))
      own.reachable.insert(node);
  return own;
}

void replica_hub::note_stored(const cluster_question& stored, const std::string& loss) {
  const auto words = to_string(stored.change) + (loss.empty() ? "" : ": ") + loss;
  if (!loss.empty()) {
    options_.places->note_forced();
    CODEQ_LOG_ERROR(
      "shard gets its primary by force, so acknowledged changes may be lost shard={} node={} "
      "loss=\"{}\"",
      value(stored.change.shard),
      stored.change.node,
      loss);
  }
  CODEQ_LOG_INFO(
    "operator changed the places of shards change=\"{}\" subject={} remote={}",
    words,
    stored.by ? stored.by->subject : "-",
    stored.by ? stored.by->remote : "-");
  if (!stored.by)
    return;
  notes_.push_back({stored.by, operator_action::cluster_change, words});
  // The log has the others.
  if (notes_.size() > notes_max)
    notes_.pop_front();
  send_notes();
}

void replica_hub::send_notes() {
  for (const auto& [shard, replica] : replicas_) {
    if (!options_.places->serves(shard))
      continue;
    for (auto& note : std::exchange(notes_, {}))
      self_->send(options_.hosts.at(value(shard)), shard_command{std::move(note)});
    return;
  }
}

void replica_hub::answer(
  std::uint64_t number, const cluster::change_end& end, result<cluster_status> told) {
  auto asked = inquiries_.extract(number);
  if (end.is_stored)
    note_stored(asked.mapped().asked, end.loss);
  if (told) {
    for (auto& shard : told->shards)
      add_positions(shard);
    cluster::note_waits(*told);
    cluster::note_unreached(
      *told, [this](const std::string& node) { return links_->reaches(node); });
  }
  asked.mapped().promise.deliver(cluster_told{std::move(told)});
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
    copy.lag = is_primary ? cluster::lag_of(shard, copy, replica.latest()) : 0;
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
