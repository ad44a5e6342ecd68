// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/order_audit.hpp"

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// A task counts once it has waited for this time.
constexpr virtual_time ready_margin = 10ms;

/// By so much a task must be older to come first.
constexpr duration age_margin = 1s;

} // namespace

void order_audit::turn_sealed(
  core::shard_state& state, const std::vector<core::event>& events, virtual_time now) {
  for (const auto& e : events)
    if (const auto* grant = std::get_if<core::batch_granted>(&e))
      check(state, *grant, now);
  auto found = waiting_on(state, now);
  auto& known = waiting_[state.id];
  for (auto& [at, tasks] : found)
    if (auto before = known.find(at); before != known.end())
      tasks.since = before->second.since;
  known = std::move(found);
}

order_audit::waiting_map order_audit::waiting_on(core::shard_state& state, virtual_time now) {
  waiting_map found;
  if (state.are_grants_paused)
    return found;
  state.segments.for_each([&](const core::segment& s) {
    const auto& queue = state.queue_of(s);
    // A limit may hold the task back.
    if (queue.grantable() == 0 || s.limits)
      return;
    for (auto seq = s.first; s.contains(seq); ++seq)
      if (s.view(seq).state == task_state::ready) {
        auto& tasks = found.try_emplace({queue.address, s.priority}).first->second;
        tasks.since = now;
        // The age of another fairness key's task says nothing about whose turn it is.
        if (!queue.fair)
          tasks.oldest = std::min(tasks.oldest, s.enqueued_at);
      }
  });
  return found;
}

void order_audit::check(
  core::shard_state& state, const core::batch_granted& grant, virtual_time now) const {
  for (const auto& run : grant.runs)
    for (std::uint32_t i = 0; i < run.count; ++i)
      if (const auto* s = core::find_segment(state.segments, run.first + i))
        check(state, *s, {state.queue_of(*s).address, s->priority}, now);
}

void order_audit::check(
  core::shard_state& state, const core::segment& granted, const place& at, virtual_time now) const {
  auto enqueued_at = state.queue_of(granted).fair ? timestamp{} : granted.enqueued_at;
  for (const auto& [other, waiting] : waiting_) {
    if (other == state.id)
      continue;
    for (auto found = waiting.lower_bound(at);
         found != waiting.end() && found->first.first == at.first;
         ++found) {
      const auto& [since, oldest] = found->second;
      bool is_better =
        found->first.second > at.second
        || (oldest != timestamp::max() && oldest + age_margin < enqueued_at);
      if (is_better && since + ready_margin < now)
        breach_(
          "order",
          "shard " + std::to_string(value(state.id)) + " granted a task of priority "
            + std::to_string(at.second) + " while shard " + std::to_string(value(other))
            + " had a better one of priority " + std::to_string(found->first.second));
    }
  }
}

} // namespace codeq::sim
