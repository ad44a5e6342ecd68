// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/limit_audit.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace codeq::sim {

namespace {

/// Number of starts of a key that are remembered.
constexpr std::size_t starts_max = 64;

std::string text_of(const limit_key& key) {
  return "key '" + std::get<2>(key) + "' of limit " + std::get<1>(key);
}

} // namespace

void limit_audit::turn_sealed(
  core::shard_state& state, const std::vector<core::event>& events) {
  check_new_tasks(state, events);
  for (const auto& e : events)
    if (const auto* grant = std::get_if<core::batch_granted>(&e))
      check_starts(state, *grant);
  for (const auto& e : events)
    if (const auto* changed = std::get_if<core::limit_keys_changed>(&e))
      for (const auto& mark : changed->keys)
        closed_[{state.id, {mark.limit.tenant, mark.limit.name, mark.key}}] = mark.closed_until;
  check_leases(state);
}

void limit_audit::check_new_tasks(
  const core::shard_state& state, const std::vector<core::event>& events) {
  // The tasks before a change of the settings have the limits of before.
  std::set<queue_address> changed;
  for (const auto& e : events)
    if (const auto* configured = std::get_if<core::queue_configured>(&e))
      changed.insert(configured->queue);
  for (const auto& e : events) {
    const auto* added = std::get_if<core::segment_appended>(&e);
    const auto* queue = added ? state.find_queue(added->queue) : nullptr;
    if (!queue || changed.contains(added->queue))
      continue;
    for (const auto& given : queue->settings.config.limits)
      if (std::none_of(added->limits.begin(), added->limits.end(), [&](const task_limit& use) {
            return use.name == given.name;
          }))
        breach_("8.1", "a task of queue " + added->queue.queue + " lacks limit " + given.name);
  }
}

void limit_audit::check_leases(core::shard_state& state) {
  auto& of_shard = leased_[state.id];
  of_shard.clear();
  state.segments.for_each([&](const core::segment& s) {
    if (!s.limits || s.view(s.first).state != task_state::leased)
      return;
    const auto& tenant = state.queues[s.queue]->address.tenant;
    for (const auto& use : *s.limits)
      ++of_shard[{tenant, use.name, use.key}];
  });
  leases_of_keys leased;
  for (const auto& [shard, keys] : leased_)
    for (const auto& [key, count] : keys)
      leased[key] += count;
  for (const auto& [key, count] : leased) {
    const auto* limit = state.limits.find({std::get<0>(key), std::get<1>(key)});
    if (limit && limit->concurrency && count > *limit->concurrency)
      breach_(
        "8.2",
        text_of(key) + " has " + std::to_string(count) + " leases, and may have "
          + std::to_string(*limit->concurrency));
  }
  slots_.turn_sealed(state, leased);
}

void limit_audit::check_starts(core::shard_state& state, const core::batch_granted& grant) {
  auto token = value(grant.first_token);
  for (const auto& run : grant.runs)
    for (std::uint32_t i = 0; i < run.count; ++i, ++token) {
      const auto* s = core::find_segment(state.segments, run.first + i);
      if (!s || !s->limits)
        continue;
      const auto& tenant = state.queues[s->queue]->address.tenant;
      for (const auto& use : *s->limits) {
        limit_key key{tenant, use.name, use.key};
        const auto* limit = state.limits.find({tenant, use.name});
        if (limit && limit->rate)
          decided_.emplace(
            std::pair{state.id, static_cast<fencing_token>(token)},
            start{key, *limit->rate, use.cost, grant.at});
        auto closed = closed_.find({state.id, key});
        if (closed != closed_.end() && grant.at < closed->second)
          breach_("8.5", text_of(key) + " is closed, and one of its tasks was leased");
      }
    }
}

void limit_audit::grant_left(shard_id shard, fencing_token token) {
  auto [begin, end] = decided_.equal_range({shard, token});
  for (auto one = begin; one != end; ++one)
    note(one->second);
  decided_.erase(begin, end);
}

void limit_audit::note(const start& one) {
  auto& starts = starts_[one.key];
  // A power cut may take shard time back.
  if (!starts.empty() && one.at < starts.back().first)
    starts.clear();
  starts.emplace_back(one.at, one.cost);
  if (starts.size() > starts_max)
    starts.pop_front();
  const auto& rate = one.rate;
  std::int64_t sum = 0;
  for (auto before = starts.rbegin(); before != starts.rend(); ++before) {
    sum += before->second;
    auto window = one.at - before->first;
    // Rounded up: a start is allowed at the end of its interval.
    auto allowed = rate.burst + (window.count() * rate.count + rate.period.count() - 1)
                                  / rate.period.count();
    if (sum > allowed) {
      breach_(
        "8.2",
        text_of(one.key) + " had " + std::to_string(sum) + " starts within "
          + std::to_string(window.count()) + " ms");
      return;
    }
  }
}

} // namespace codeq::sim
