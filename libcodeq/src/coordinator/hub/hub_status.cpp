// SPDX-License-Identifier: Apache-2.0
// The part of `replica_hub` that tells an operator the state of the cluster.
#include "cluster/cluster_view.hpp"
#include "coordinator/hub/replica_hub.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

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
    copy.lag = is_primary ? replica.latest().number - std::min(replica.latest().number, at->number)
                          : 0;
  }
}

} // namespace codeq::coordinator
