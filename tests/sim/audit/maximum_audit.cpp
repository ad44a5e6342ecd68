// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/maximum_audit.hpp"

#include <algorithm>
#include <set>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// A slot that was lent before a change is spent or returned by then.
constexpr virtual_time changed_lately = 3s;

} // namespace

void maximum_audit::turn_sealed(
  core::shard_state& state, const std::vector<core::event>& events) {
  look_at(state);
  std::set<queue_address> granted;
  for (const auto& e : events)
    if (const auto* grant = std::get_if<core::batch_granted>(&e))
      for (const auto& run : grant->runs)
        if (const auto* s = core::find_segment(state.segments, run.first))
          granted.insert(state.queue_of(*s).address);
  for (const auto& queue : granted)
    check(queue);
}

void maximum_audit::forget() {
  for (auto& [queue, shards] : queues_)
    for (auto& [shard, view] : shards)
      view.leased = 0;
}

void maximum_audit::look_at(const core::shard_state& state) {
  for (const auto& queue : state.queues) {
    if (!queue)
      continue;
    auto max_leased = queue->settings.config.max_leased;
    auto [at, is_new] = queues_[queue->address].try_emplace(state.id);
    auto& view = at->second;
    if (is_new || view.max_leased != max_leased)
      view.since = world_.time.now();
    view.max_leased = max_leased;
    view.leased = queue->leased;
  }
}

void maximum_audit::check(const queue_address& queue) const {
  const auto& shards = queues_.at(queue);
  const auto most = shards.begin()->second.max_leased;
  auto is_settled = [&](const auto& one) {
    return one.second.max_leased == most
           && world_.time.now() - one.second.since > changed_lately;
  };
  if (most == 0 || !std::all_of(shards.begin(), shards.end(), is_settled))
    return;
  std::uint64_t leased = 0;
  for (const auto& [shard, view] : shards)
    leased += view.leased;
  if (leased > most)
    breach_(
      "queue",
      "queue " + queue.queue + " has " + std::to_string(leased) + " leases over all shards, and "
        + "may have " + std::to_string(most));
}

} // namespace codeq::sim
