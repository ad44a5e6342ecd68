// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/limit_audit.hpp"

#include <utility>

namespace codeq::sim {

namespace {

/// Number of starts of a key that are remembered.
constexpr std::size_t starts_max = 64;

/// Shard time may run so much faster than the clock of the simulation.
constexpr double fast_clock = 1.1;

std::string text_of(const std::tuple<std::string, std::string, std::string>& key) {
  return "key '" + std::get<2>(key) + "' of limit " + std::get<1>(key);
}

} // namespace

void limit_audit::turn_sealed(
  core::shard_state& state, const std::vector<core::event>& events, virtual_time now) {
  for (const auto& e : events)
    if (const auto* grant = std::get_if<core::batch_granted>(&e))
      check_starts(state, *grant, now);
  for (const auto& e : events)
    if (const auto* changed = std::get_if<core::limit_keys_changed>(&e))
      for (const auto& mark : changed->keys)
        closed_[{mark.limit.tenant, mark.limit.name, mark.key}] = mark.closed_until;
  check_leases(state);
}

void limit_audit::check_leases(core::shard_state& state) {
  std::map<key_name, std::uint64_t> leased;
  state.segments.for_each([&](const core::segment& s) {
    if (!s.limits || s.view(s.first).state != task_state::leased)
      return;
    const auto& tenant = state.queues[s.queue]->address.tenant;
    for (const auto& use : *s.limits)
      ++leased[{tenant, use.name, use.key}];
  });
  for (const auto& [key, count] : leased) {
    const auto* limit = state.limits.find({std::get<0>(key), std::get<1>(key)});
    if (limit && limit->concurrency && count > *limit->concurrency)
      breach_(
        "8.2",
        text_of(key) + " has " + std::to_string(count) + " leases, and may have "
          + std::to_string(*limit->concurrency));
  }
}

void limit_audit::check_starts(
  core::shard_state& state, const core::batch_granted& grant, virtual_time now) {
  for (const auto& run : grant.runs)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const auto* s = core::find_segment(state.segments, run.first + i);
      if (!s || !s->limits)
        continue;
      const auto& tenant = state.queues[s->queue]->address.tenant;
      for (const auto& use : *s->limits) {
        key_name key{tenant, use.name, use.key};
        const auto* limit = state.limits.find({tenant, use.name});
        if (limit && limit->rate)
          note_start(key, *limit->rate, use.cost, now);
        auto closed = closed_.find(key);
        if (closed != closed_.end() && grant.at < closed->second)
          breach_("8.5", text_of(key) + " is closed, and one of its tasks was leased");
      }
    }
}

void limit_audit::note_start(
  const key_name& key, const start_rate& rate, std::uint32_t cost, virtual_time now) {
  auto& starts = starts_[key];
  starts.emplace_back(now, cost);
  if (starts.size() > starts_max)
    starts.pop_front();
  std::uint64_t sum = 0;
  for (auto at = starts.rbegin(); at != starts.rend(); ++at) {
    sum += at->second;
    auto window_ms = static_cast<double>((now - at->first).count()) / 1000;
    auto per_ms = static_cast<double>(rate.count) / static_cast<double>(rate.period.count());
    if (static_cast<double>(sum) > window_ms * fast_clock * per_ms + rate.burst + 1) {
      breach_(
        "8.2",
        text_of(key) + " had " + std::to_string(sum) + " starts within "
          + std::to_string(window_ms) + " ms");
      return;
    }
  }
}

} // namespace codeq::sim
