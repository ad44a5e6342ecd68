// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/maximum_audit.hpp"

#include <algorithm>
#include <set>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// A slot that was lent before a change is spent or returned by then.
constexpr virtual_time changed_lately = 3s;

/// Number of the tasks that a producer's requests added, which need room.
std::uint64_t asked_tasks(const core::segment_appended& added) {
  std::uint64_t asked = 0;
  for (const auto& mark : added.requests)
    asked += is_internal(mark.request.producer) ? 0 : mark.count;
  return asked;
}

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
  for (const auto& e : events)
    note_exempt(state, e);
  for (const auto& e : events)
    if (const auto* added = std::get_if<core::segment_appended>(&e);
        added && asked_tasks(*added) > 0)
      check_depth(added->queue);
}

void maximum_audit::note_exempt(core::shard_state& state, const core::event& e) {
  if (const auto* added = std::get_if<core::segment_appended>(&e))
    exempt_[added->queue] += added->count - asked_tasks(*added);
  if (const auto* changed = std::get_if<core::tasks_changed>(&e))
    for (const auto& one : changed->changes)
      if (const auto* s = core::find_segment(state.segments, one.seq);
          s && one.kind == core::change_kind::redriven)
        ++exempt_[state.queue_of(*s).address];
}

void maximum_audit::check_depth(const queue_address& queue) {
  const auto& shards = queues_.at(queue);
  const auto most = shards.begin()->second.max_depth;
  std::uint64_t depth = 0;
  bool is_settled = true;
  for (const auto& [shard, view] : shards) {
    depth += view.depth;
    is_settled = is_settled && view.max_depth == most
                 && world_.time.now() - view.depth_since > changed_lately;
  }
  if (depth == 0)
    exempt_.erase(queue);
  if (most != 0 && is_settled && depth > most + exempt_[queue])
    breach_(
      "queue",
      "queue " + queue.queue + " has " + std::to_string(depth) + " tasks over all shards, and may "
        + "have " + std::to_string(most));
}

void maximum_audit::forget() {
  for (auto& [queue, shards] : queues_)
    for (auto& [shard, view] : shards)
      view.leased = view.depth = 0;
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
    const auto max_depth = queue->settings.config.max_depth;
    if (is_new || view.max_depth != max_depth)
      view.depth_since = world_.time.now();
    view.max_depth = max_depth;
    view.depth = queue->depth();
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
