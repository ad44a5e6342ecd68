// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/shard.hpp"

#include "codeq/limits.hpp"

#include "core/state/queue_fairness.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

/// The counts of a shard.
namespace codeq::coordinator {

namespace {

/// Since when the task is ready.
timestamp ready_since(core::shard_state& state, sequence seq) {
  const auto& s = *core::find_segment(state.segments, seq);
  return std::max(s.enqueued_at, s.not_before);
}

/// Since when the oldest ready task of the queue waits; empty when none is ready.
std::optional<timestamp> oldest_ready(core::shard_state& state, const core::queue_state& queue) {
  std::optional<timestamp> oldest;
  for (std::size_t priority = 0; priority < queue.lanes.size(); ++priority) {
    if (queue.ready_by_priority[priority] == 0)
      continue;
    if (queue.fair) {
      auto seq = queue.fair->lanes(priority)->first(state.segments);
      oldest = std::min(oldest.value_or(timestamp::max()), ready_since(state, seq));
      continue;
    }
    auto first = queue.lanes[priority]->first_tasks(state.segments);
    for (auto seq : {first.fresh, first.returned})
      if (seq)
        oldest = std::min(oldest.value_or(timestamp::max()), ready_since(state, *seq));
  }
  return oldest;
}

/// Queues that the worker serves by their names and takes no tasks of for now.
std::vector<queue_address> full_queues(const core::attached_worker& worker) {
  std::vector<queue_address> full;
  for (const auto& queue : worker.without) {
    auto matches = [&](const core::claimed_prefix& prefix) {
      return prefix.name.tenant == queue.tenant && queue.queue.starts_with(prefix.name.queue);
    };
    if (std::none_of(worker.prefixes.begin(), worker.prefixes.end(), matches))
      full.push_back(queue);
  }
  return full;
}

void add_activity(base::queue_counts& to, const core::queue_activity& from) {
  to.enqueued = from.enqueued;
  to.granted = from.granted;
  to.retried = from.retried;
  to.returned = from.returned;
  to.timed_out = from.timed_out;
  to.quarantined = from.quarantined;
  to.tripped = from.tripped;
  to.redriven = from.redriven;
  if (!from.times)
    return;
  to.dispatch = from.times->dispatch;
  to.run = from.times->run;
}

base::queue_counts
counts_of(core::shard_state& state, const core::queue_state& queue, timestamp now) {
  base::queue_counts counts;
  counts.queue = queue.address;
  counts.scheduled = queue.scheduled;
  counts.gated = queue.gated;
  counts.ready = queue.ready;
  counts.held = queue.held;
  counts.leased = queue.leased;
  counts.completed = queue.totals.completed;
  counts.dead = queue.totals.dead;
  counts.lost = queue.totals.lost;
  counts.dead_now = queue.dead;
  counts.ready_by_priority = queue.ready_by_priority;
  for (std::size_t priority = 0; priority < queue.held_by_priority.size(); ++priority)
    counts.ready_by_priority[priority] += queue.held_by_priority[priority];
  counts.cancelled = queue.totals.cancelled;
  counts.paused = queue.settings.paused;
  counts.max_depth = queue.settings.config.max_depth;
  counts.max_leased = queue.settings.config.max_leased;
  if (auto since = oldest_ready(state, queue))
    counts.oldest_ready = std::max(duration{1}, now - *since);
  add_activity(counts, queue.activity);
  return counts;
}

} // namespace

base::coordinator_counts shard::stats(const instant& now) const {
  base::coordinator_counts s;
  s.shards = 1;
  std::size_t fairness_keys = 0;
  std::uint64_t held = 0;
  for (const auto& [arrival, index] : state_->queues_by_arrival) {
    const auto& queue = *state_->queues[index];
    held += queue.held;
    fairness_keys += queue.fair ? queue.fair->keys().active() : 0;
    s.queues.push_back(counts_of(*state_, queue, now.shard));
  }
  s.workers = worker_counts();
  for (const auto& [reason, count] : refused_enqueues_)
    s.refused[std::string(to_string(reason))] = count;
  s.dispatch = dispatched_;
  s.run = ran_;
  s.gauges["codeq_lease_timers"] = static_cast<std::int64_t>(timers_);
  s.gauges["codeq_leases"] = static_cast<std::int64_t>(state_->leases.size());
  s.gauges["codeq_stale_reports_total"] = static_cast<std::int64_t>(state_->stale_reports);
  s.gauges["codeq_producer_sessions"] = static_cast<std::int64_t>(state_->producers.size());
  s.gauges["codeq_producer_sessions_forgotten_total"] =
    static_cast<std::int64_t>(state_->sessions_forgotten);
  s.gauges["codeq_commands_waiting"] = static_cast<std::int64_t>(waiting_commands());
  s.gauges["codeq_results_put_off_total"] = static_cast<std::int64_t>(results_put_off_);
  s.gauges["codeq_stale_beats_total"] = static_cast<std::int64_t>(state_->stale_beats);
  s.gauges["codeq_fairness_keys"] = static_cast<std::int64_t>(fairness_keys);
  s.gauges["codeq_limit_keys"] = static_cast<std::int64_t>(state_->limits.keys().size());
  s.gauges["codeq_tasks_held"] = static_cast<std::int64_t>(held);
  const auto& schedules = state_->schedules;
  s.gauges["codeq_schedules"] = static_cast<std::int64_t>(schedules.size());
  s.gauges["codeq_schedules_without_zone"] =
    static_cast<std::int64_t>(planner_.without_zone(schedules));
  s.gauges["codeq_occurrences_fired_total"] = static_cast<std::int64_t>(schedules.counts.fired);
  s.gauges["codeq_occurrences_late_total"] = static_cast<std::int64_t>(schedules.counts.late);
  s.gauges["codeq_occurrences_overlapping_total"] =
    static_cast<std::int64_t>(schedules.counts.skipped_overlap);
  s.gauges["codeq_occurrences_missed_total"] =
    static_cast<std::int64_t>(schedules.counts.skipped_misfire);
  const auto& segments = state_->segments;
  s.gauges["codeq_segments_unpacked"] = static_cast<std::int64_t>(segments.unpacked_segments());
  s.gauges["codeq_segments_packed"] = static_cast<std::int64_t>(segments.packed_segments());
  s.gauges["codeq_packed_bytes"] = static_cast<std::int64_t>(segments.packed_bytes());
  s.gauges["codeq_cache_bytes"] = static_cast<std::int64_t>(cache_.byte_size());
  return s;
}

std::vector<base::worker_counts> shard::worker_counts() const {
  std::map<std::string, base::worker_counts> workers;
  for (const auto& [peer, attached] : state_->attached) {
    auto& counts = workers[attached.worker->name];
    counts.is_connected = true;
    counts.free_slots += attached.credits;
    for (auto queue : attached.queues)
      counts.tenants.insert(state_->queues[queue]->address.tenant);
    for (const auto& queue : attached.wanted)
      counts.tenants.insert(queue.tenant);
    for (const auto& prefix : attached.prefixes)
      counts.tenants.insert(prefix.name.tenant);
    for (const auto& queue : attached.without)
      counts.tenants.insert(queue.tenant);
  }
  state_->leases.for_each_grant(
    [&](const core::live_grant& grant) { workers[grant.worker->name].leases += grant.live; });
  std::vector<base::worker_counts> all;
  for (auto& [name, counts] : workers) {
    counts.name = name;
    all.push_back(std::move(counts));
  }
  return all;
}

void shard::add_leases(std::vector<base::worker_counts>& workers, const instant& now) const {
  std::map<std::string, base::worker_counts*> by_name;
  for (auto& worker : workers)
    by_name[worker.name] = &worker;
  for (const auto& [peer, attached] : state_->attached) {
    auto& worker = *by_name.at(attached.worker->name);
    // Each waiting claim of an HTTP worker is a peer of its own, and many name the same queues.
    const auto show = [&shown = worker.queues](queue_address queue) {
      bool has_room = shown.size() < limits::worker_queues_shown_max;
      if (has_room && std::find(shown.begin(), shown.end(), queue) == shown.end())
        shown.push_back(std::move(queue));
    };
    for (auto queue : attached.queues)
      show(state_->queues[queue]->address);
    for (const auto& prefix : attached.prefixes)
      show({prefix.name.tenant, prefix.name.queue + "*"});
    const auto full = full_queues(attached);
    for (const auto& queue : full)
      show(queue);
    // They have had no task yet, which is worth to be seen.
    for (const auto& queue : attached.wanted)
      show(queue);
    auto all = attached.queues.size() + attached.wanted.size() + attached.prefixes.size();
    all += full.size();
    worker.queue_count = std::max(worker.queue_count, static_cast<std::uint32_t>(all));
  }
  state_->leases.for_each_lease(tuning::bulk_looked_at_max, [&](const core::lease& l) {
    const auto& grant = state_->leases.grant_at(l.grant);
    auto left = std::max(duration{0}, l.deadline - now.steady);
    by_name.at(grant.worker->name)
      ->running.push_back({{state_->id, l.seq}, queue_address{}, grant.at, left, l.queued});
  });
  for (auto& worker : workers) {
    auto& running = worker.running;
    std::sort(running.begin(), running.end(), [](const auto& a, const auto& b) {
      return std::tie(a.since, a.task) < std::tie(b.since, b.task);
    });
    if (running.size() > limits::worker_leases_shown_max)
      running.resize(limits::worker_leases_shown_max);
    for (auto& lease : running)
      lease.queue = state_->queue_of(*core::find_segment(state_->segments, lease.task.seq)).address;
  }
}

} // namespace codeq::coordinator
