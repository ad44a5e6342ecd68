// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/fairness_audit.hpp"

#include "core/state/queue_fairness.hpp"
#include "protocol/task_header.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace codeq::sim {

namespace {

/// The latest measured run time counts for this part of the average.
constexpr double latest_part = 0.125;

/// By so much the average may differ: the shard counts in whole milliseconds.
constexpr double average_margin_ms = 20;

/// True for a key that a producer names, see `workload::add_fairness`: it wins over the header.
bool is_own(const std::string& key) {
  return key.starts_with('f');
}

} // namespace

void fairness_audit::turn_sealed(
  core::shard_state& state, const std::vector<core::event>& events) {
  forget_removed(state);
  check_new_tasks(state, events);
  for (const auto& e : events)
    if (const auto* ended = std::get_if<core::leases_ended>(&e))
      note(state, *ended);
  check_run_times(state);
  for (const auto& e : events)
    if (const auto* grant = std::get_if<core::batch_granted>(&e))
      check(state, *grant);
  auto found = waiting_on(state);
  auto& known = waiting_[state.id];
  for (auto& [at, key] : found)
    if (auto before = known.find(at); before != known.end())
      key.waited = before->second.waited;
  known = std::move(found);
}

void fairness_audit::check_new_tasks(
  const core::shard_state& state, const std::vector<core::event>& events) {
  for (const auto& e : events) {
    const auto* added = std::get_if<core::segment_appended>(&e);
    const auto* queue = added ? state.find_queue(added->queue) : nullptr;
    if (!queue || queue->settings.config.fairness_header.empty())
      continue;
    // The tasks before a change of the settings have the keys of before.
    bool is_changed = std::any_of(events.begin(), events.end(), [&](const core::event& other) {
      const auto* configured = std::get_if<core::queue_configured>(&other);
      return configured && configured->queue == added->queue;
    });
    if (is_changed || is_own(added->fairness.key))
      continue;
    for (const auto& piece : added->pieces)
      for (std::size_t i = 0; i < piece.count(); ++i) {
        auto wanted = protocol::header_of(
          piece.part(i, 1).body, queue->settings.config.fairness_header);
        if (wanted != added->fairness.key)
          breach_(
            "9.1",
            "a task of queue " + added->queue.queue + " has fairness key '" + added->fairness.key
              + "', and its header '" + wanted + "'");
      }
  }
}

fairness_audit::key_place
fairness_audit::place_of(const core::shard_state& state, const core::segment& s) {
  queue_place queue{state.id, state.queues[s.queue]->address};
  return {queue, s.priority, std::string(s.fairness_key())};
}

fairness_audit::waiting_keys fairness_audit::waiting_on(core::shard_state& state) {
  waiting_keys found;
  if (state.are_grants_paused)
    return found;
  state.segments.for_each([&](const core::segment& s) {
    const auto& queue = state.queue_of(s);
    // A limit may hold the task back.
    if (!queue.fair || queue.grantable() == 0 || s.limits)
      return;
    for (auto seq = s.first; s.contains(seq); ++seq)
      if (s.view(seq).state == task_state::ready)
        found.try_emplace(place_of(state, s), waiting_key{seq});
  });
  return found;
}

void fairness_audit::check(core::shard_state& state, const core::batch_granted& grant) {
  auto token = value(grant.first_token);
  for (const auto& run : grant.runs)
    for (std::uint32_t i = 0; i < run.count; ++i, ++token) {
      const auto* s = core::find_segment(state.segments, run.first + i);
      const auto* lease = state.leases.find(static_cast<fencing_token>(token));
      if (!s || !lease)
        continue;
      auto at = place_of(state, *s);
      leases_[{state.id, static_cast<fencing_token>(token)}] = {
        {std::get<0>(at), std::get<2>(at)}, grant.at};
      if (state.queue_of(*s).fair)
        count_turn(state, at, lease->charged);
    }
}

void fairness_audit::count_turn(
  core::shard_state& state, const key_place& served, std::int64_t cost) {
  const auto& [queue, priority, name] = served;
  if (cost == 0)
    breach_("9.2", "key '" + name + "' was granted a task at no cost");
  end_wait(served);
  auto& largest_here = largest_[queue];
  largest_here = std::max(largest_here, cost);
  auto largest = largest_here;
  for (const auto& [other, of_other] : largest_)
    if (other.second == queue.second)
      largest = std::max(largest, of_other);
  auto& keys = waiting_[state.id];
  auto begin = keys.lower_bound({queue, priority, {}});
  auto end = keys.lower_bound({queue, static_cast<std::uint8_t>(priority + 1), {}});
  // Weights are 1 to 3. One share more is for tasks that run and were charged too much. A key whose
  // tasks ran longer than expected misses a round. One that other shards served waits until the
  // keys here have caught up.
  constexpr std::int64_t share_max = 4;
  constexpr std::int64_t behind_max_ms = 11'000;
  auto count = std::distance(begin, end) + 1;
  for (auto at = begin; at != end; ++at) {
    auto& waited = at->second.waited;
    waited += std::get<2>(at->first) == name ? 0 : cost;
    if (waited > 2 * share_max * (count + 1) * (largest + behind_max_ms))
      breach_("9.4", "key '" + std::get<2>(at->first) + "' waits for more than a round");
  }
}

void fairness_audit::end_wait(const key_place& served) {
  const auto& [queue, priority, name] = served;
  for (auto& [shard, keys] : waiting_)
    if (auto at = keys.find({{shard, queue.second}, priority, name}); at != keys.end())
      at->second.waited = 0;
}

void fairness_audit::note(const core::shard_state& state, const core::leases_ended& ended) {
  for (const auto& end : ended.ends) {
    // Kept, since a crash may undo the end.
    auto lease = leases_.find({state.id, end.token});
    if (lease == leases_.end() || !end.charged)
      continue;
    auto ran = static_cast<double>((ended.at - lease->second.granted_at).count());
    auto [average, is_first] = run_times_.try_emplace(lease->second.key, ran);
    if (!is_first)
      average->second += (ran - average->second) * latest_part;
  }
}

void fairness_audit::forget_removed(const core::shard_state& state) {
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    queue_place queue{state.id, state.queues[index]->address};
    auto [known, is_new] = created_.try_emplace(queue, arrival);
    if (is_new || std::exchange(known->second, arrival) == arrival)
      continue;
    std::erase_if(run_times_, [&](const auto& one) { return one.first.first == queue; });
  }
}

void fairness_audit::check_run_times(const core::shard_state& state) {
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    if (!queue.fair)
      continue;
    const auto& keys = queue.fair->keys();
    keys.for_each_active([&](core::fair_key who) {
      // The empty key may have run before the queue had others.
      const auto& name = keys.name_of(who);
      auto measured = run_times_.find({{state.id, queue.address}, name});
      if (name.empty() || measured == run_times_.end())
        return;
      auto expected = static_cast<double>(keys.cost_of(who));
      if (std::abs(expected - std::max(measured->second, 1.0)) > average_margin_ms)
        breach_(
          "9.4",
          "key '" + name + "' is expected to run " + std::to_string(expected) + " ms, but ran "
            + std::to_string(measured->second) + " ms");
    });
  }
}

} // namespace codeq::sim
