// SPDX-License-Identifier: Apache-2.0
#include "core/queues/queue_waits.hpp"

#include "codeq/limits.hpp"

#include "core/state/queue_fairness.hpp"
#include "core/state/queue_slots.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace codeq::core {

namespace {

void add(queue_explanation& to, task_reason reason, std::uint64_t tasks) {
  if (tasks > 0)
    to.waiting[reason] += tasks;
}

/// Keeps those that hold most, as many as an answer may name, in that order.
void keep_most(std::vector<limit_wait>& all) {
  auto kept = std::min(all.size(), limits::explained_limits_max);
  auto holds_more = [](const limit_wait& a, const limit_wait& b) { return a.at.held > b.at.held; };
  // They are in an order of names, which decides among equal ones.
  std::stable_sort(all.begin(), all.end(), holds_more);
  all.resize(kept);
}

/// Adds the keys of a limit that hold tasks of the queue, as long as some of `left` may be seen.
void add_keys(
  queue_explanation& to,
  const limit_table& table,
  std::uint32_t limit,
  std::uint32_t queue,
  std::size_t& left) {
  const auto& keys = table.keys();
  auto take = [&](const std::string& key, const limit_keys::key_counts& counts) {
    if (left == 0) {
      to.has_all_keys = false;
      return false;
    }
    --left;
    if (auto held = keys.held_of({limit, key}, queue); held > 0)
      to.keys.push_back(
        {table.name_of(limit).name,
         {key, counts.leased, held, counts.next_start, counts.closed_until}});
    return true;
  };
  keys.for_each_key(limit, {}, take);
}

limit_wait& wait_of(queue_explanation& to, const std::string& limit) {
  for (auto& wait : to.limits)
    if (wait.limit == limit)
      return wait;
  return to.limits.emplace_back(limit_wait{limit});
}

/// Adds the keys of other shards for whose permits tasks wait.
void add_awaited(queue_explanation& to, const awaited_keys& awaited, std::size_t& left) {
  for (const auto& [limit, of] : awaited.limits()) {
    wait_of(to, limit).at.held += of.tasks;
    for (const auto& [key, tasks] : of.keys) {
      if (left == 0) {
        to.has_all_keys = false;
        break;
      }
      --left;
      limit_key_info at{key};
      at.held = tasks;
      to.keys.push_back({limit, std::move(at)});
    }
  }
}

/// `one` for each of `tasks`, of which `at_once` go on together; `duration::max()` when none does.
duration time_for(std::uint64_t tasks, std::uint64_t at_once, duration one) {
  if (tasks == 0 || one == duration{0})
    return duration{0};
  if (at_once == 0)
    return duration::max();
  const auto all = std::chrono::duration<double, duration::period>(one)
                   * (static_cast<double>(tasks) / static_cast<double>(at_once));
  return all < limits::not_before_ahead_max ? std::chrono::duration_cast<duration>(all)
                                            : limits::not_before_ahead_max;
}

/// The mean run time of the queue's tasks since the start of the process; 0: unknown.
duration mean_run_of(const queue_state& queue) {
  const auto* times = queue.activity.times.get();
  return times ? times->run.mean().value_or(duration{0}) : duration{0};
}

/// The time in which a key starts the tasks that it holds, at the earliest: a cost is at least 1.
duration time_of_key(const limit_definition& of, const limit_key_info& key, duration run) {
  duration most{0};
  if (of.concurrency == 0u && key.held > 0)
    return duration::max();
  if (of.concurrency)
    most = time_for(key.held, *of.concurrency, run);
  if (!of.rate)
    return most;
  // A task that waits for a time waits because nothing of the burst is left.
  const auto burst = key.next_start ? std::uint64_t{1} : of.rate->burst;
  const auto later = key.held - std::min<std::uint64_t>(key.held, burst);
  return std::max(most, time_for(later, of.rate->count, of.rate->period));
}

/// See `queue_explanation::max_leased_need`.
duration max_leased_need_of(const queue_state& queue) {
  const auto max_leased = queue.settings.config.max_leased;
  if (max_leased == 0)
    return duration{0};
  const auto waiting = queue.ready - std::min(queue.ready, queue.lease_room());
  return time_for(waiting, max_leased, mean_run_of(queue));
}

/// The time until the first start of the key, as far as it is known, and that of all others.
duration need_of_key(
  const limit_definition& of, const limit_key_info& key, duration run, timestamp now) {
  const auto time = time_of_key(of, key, run);
  if (time == duration::max())
    return time;
  const auto first = std::max(key.next_start.value_or(timestamp{}), key.closed_until);
  return std::max(first - now, duration{0}) + time;
}

/// See `queue_explanation::limits_need`. `keys`: all that were seen.
duration limits_need_of(
  const shard_state& state, const queue_state& queue, const std::vector<limit_wait>& keys) {
  const auto run = mean_run_of(queue);
  auto most = max_leased_need_of(queue);
  for (const auto& wait : keys)
    if (const auto* of = state.limits.find({queue.address.tenant, wait.limit}))
      most = std::max(most, need_of_key(*of, wait.at, run, state.at));
  return most;
}

void add_limits(
  queue_explanation& to,
  const limit_table& table,
  const awaited_keys& awaited,
  std::uint32_t queue) {
  auto left = limits::explained_keys_seen_max;
  table.keys().for_each_holding(queue, [&](std::uint32_t limit, std::uint64_t held) {
    limit_wait wait{table.name_of(limit).name};
    wait.at.held = held;
    to.limits.push_back(std::move(wait));
    add_keys(to, table, limit, queue, left);
  });
  add_awaited(to, awaited, left);
}

} // namespace

task_reason reason_of_ready(const shard_state& state, const queue_state& queue) {
  if (queue.settings.paused)
    return task_reason::queue_paused;
  auto claimers = count_claimers(state, queue);
  if (claimers.all == 0)
    return task_reason::no_worker;
  if (queue.lease_room() == 0 && (queue.lease_cap() == 0 || awaits_slots(state, queue)))
    return task_reason::queue_at_max_leased;
  return claimers.free > 0 ? task_reason::next : task_reason::no_free_slots;
}

queue_explanation
explain_queue(const shard_state& state, const queue_address& name, monotonic_time now) {
  queue_explanation e;
  e.queue = name;
  auto at = state.queue_index.find(name);
  if (at == state.queue_index.end())
    return e;
  const auto& queue = *state.queues[at->second];
  e.exists = true;
  add(e, task_reason::retry_waiting, queue.retrying);
  add(e, task_reason::deferred, queue.scheduled - queue.retrying);
  add(e, task_reason::gated, queue.gated);
  // As the explanation of a task: in a paused queue its limits do not matter.
  auto held = queue.settings.paused ? 0 : queue.held;
  add(e, task_reason::limited, held);
  auto reason = reason_of_ready(state, queue);
  auto behind = queue.fair && are_slots_taken(reason) ? queue.fair->out_of_turn() : 0;
  add(e, task_reason::fairness, behind);
  add(e, reason, queue.ready - held - behind);
  e.leased = queue.leased;
  e.workers = static_cast<std::uint32_t>(count_claimers(state, queue).all);
  e.blocking = queue.blocking;
  e.starts_per_minute = queue.activity.starts.per_minute(now);
  add_limits(e, state.limits, state.permits.awaited_of(at->second), at->second);
  e.max_leased_need = max_leased_need_of(queue);
  e.limits_need = limits_need_of(state, queue, e.keys);
  keep_most(e.limits);
  keep_most(e.keys);
  return e;
}

} // namespace codeq::core
