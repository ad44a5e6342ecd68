// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/slot_audit.hpp"

#include "core/state/epoch.hpp"

#include <algorithm>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

constexpr virtual_time idle_max = 100ms;

/// With several shards a slot may pass by others, which return it unused after 50 ms. Each message
/// about it waits for a write, and a simulated disk that is not quick takes up to 60 ms for one.
constexpr virtual_time idle_over_shards_max = 1s;

/// After its start a coordinator asks all shards which slots they use, and a key is closed.
constexpr virtual_time started_lately = 3s;

/// True when a worker with credits takes tasks of the segment's queue.
bool has_taker(const core::shard_state& state, const core::segment& s) {
  const auto& queue = *state.queues[s.queue];
  auto is_match = [&](const core::claimed_prefix& prefix) {
    return prefix.name.tenant == queue.address.tenant
           && queue.address.queue.starts_with(prefix.name.queue);
  };
  return std::any_of(state.attached.begin(), state.attached.end(), [&](const auto& one) {
    const core::attached_worker& worker = one.second;
    const auto& names = worker.queues;
    bool by_name = std::find(names.begin(), names.end(), s.queue) != names.end();
    bool by_prefix =
      core::takes_by_prefix(worker, queue)
      && std::any_of(worker.prefixes.begin(), worker.prefixes.end(), is_match);
    return worker.open_credits() > 0 && (by_name || by_prefix);
  });
}

} // namespace

void slot_audit::turn_sealed(core::shard_state& state, const leases_of_keys& leased) {
  auto now = world_.time.now();
  // Until this turn everything was as after the one before.
  report(now);
  started_at_ = started_at_.value_or(now);
  shards_[state.id] = view_of(state);
  idle_ = is_quiet(now) ? find_idle(leased, now) : idle_tasks();
}

void slot_audit::forget() {
  started_at_.reset();
  shards_.clear();
  idle_.clear();
}

void slot_audit::report(virtual_time now) {
  bool is_near = world_.options.shards == 1 || world_.options.has_quick_disk;
  auto most = is_near ? idle_max : idle_over_shards_max;
  std::erase_if(idle_, [&](const auto& one) {
    const auto& [task, since] = one;
    if (now - since <= most)
      return false;
    const auto& [tenant, limit, key] = shards_.at(task.first).waiting.at(task.second).front().key;
    breach_(
      "8.7",
      "a task of shard " + std::to_string(value(task.first)) + " waits for key '" + key
        + "' of limit " + limit + ", which has had a free slot for "
        + std::to_string((now - since) / 1ms) + " ms");
    return true;
  });
}

bool slot_audit::is_quiet(virtual_time now) const {
  return now - *started_at_ > started_lately && shards_.size() == world_.options.shards
         && std::all_of(shards_.begin(), shards_.end(), [](const auto& shard) {
              return shard.second.serves;
            });
}

slot_audit::idle_tasks
slot_audit::find_idle(const leases_of_keys& leased, virtual_time now) const {
  auto is_free = [&](const slot_use& use) {
    auto at = leased.find(use.key);
    return (at == leased.end() ? 0 : at->second) < use.concurrency;
  };
  idle_tasks found;
  for (const auto& [shard, view] : shards_)
    for (const auto& [seq, uses] : view.waiting) {
      if (!std::all_of(uses.begin(), uses.end(), is_free))
        continue;
      auto before = idle_.find({shard, seq});
      found[{shard, seq}] = before == idle_.end() ? now : before->second;
    }
  return found;
}

slot_audit::shard_view slot_audit::view_of(core::shard_state& state) {
  shard_view view;
  view.serves = !state.are_grants_paused && !core::is_epoch_spent(state);
  state.segments.for_each([&](const core::segment& s) {
    // A task with limits has a segment of its own.
    if (!s.limits || s.view(s.first).state != task_state::ready)
      return;
    const auto& queue = state.queue_of(s);
    bool may_grant = !queue.settings.paused && queue.lease_room() > 0;
    auto uses = uses_of(state, s);
    if (may_grant && !uses.empty() && has_taker(state, s))
      view.waiting.emplace(s.first, std::move(uses));
  });
  return view;
}

std::vector<slot_audit::slot_use>
slot_audit::uses_of(const core::shard_state& state, const core::segment& s) {
  const auto& tenant = state.queues[s.queue]->address.tenant;
  std::vector<slot_use> uses;
  for (const auto& use : *s.limits) {
    const auto* limit = state.limits.find({tenant, use.name});
    if (!limit || !limit->concurrency || limit->rate)
      return {};
    uses.push_back({{tenant, use.name, use.key}, *limit->concurrency});
  }
  return uses;
}

} // namespace codeq::sim
