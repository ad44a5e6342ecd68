// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/stats_sum.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace codeq::coordinator {

namespace {

void add(base::queue_counts& to, const base::queue_counts& part) {
  to.scheduled += part.scheduled;
  to.gated += part.gated;
  to.ready += part.ready;
  to.held += part.held;
  to.leased += part.leased;
  to.completed += part.completed;
  to.dead += part.dead;
  to.lost += part.lost;
  to.dead_now += part.dead_now;
  to.cancelled += part.cancelled;
  to.paused = to.paused || part.paused;
  to.oldest_ready = std::max(to.oldest_ready, part.oldest_ready);
  to.enqueued += part.enqueued;
  to.granted += part.granted;
  to.retried += part.retried;
  to.returned += part.returned;
  to.timed_out += part.timed_out;
  to.quarantined += part.quarantined;
  to.tripped += part.tripped;
  to.redriven += part.redriven;
  to.dispatch.add(part.dispatch);
  to.run.add(part.run);
  to.max_depth = std::max(to.max_depth, part.max_depth);
  to.max_leased = std::max(to.max_leased, part.max_leased);
  for (std::size_t i = 0; i < to.ready_by_priority.size(); ++i)
    to.ready_by_priority[i] += part.ready_by_priority[i];
}

void add(base::worker_counts& to, const base::worker_counts& part) {
  to.name = part.name;
  to.is_connected = to.is_connected || part.is_connected;
  to.free_slots += part.free_slots;
  to.leases += part.leases;
  to.tenants.insert(part.tenants.begin(), part.tenants.end());
  for (const auto& queue : part.queues)
    if (std::find(to.queues.begin(), to.queues.end(), queue) == to.queues.end())
      to.queues.push_back(queue);
  // Every shard counts all queues of a worker that exist there.
  to.queue_count = std::max(to.queue_count, part.queue_count);
  to.running.insert(to.running.end(), part.running.begin(), part.running.end());
}

/// Keeps the first `most` elements in that order.
template <class T, class Less>
void keep_first(std::vector<T>& all, std::size_t most, Less less) {
  std::sort(all.begin(), all.end(), less);
  if (all.size() > most)
    all.resize(most);
}

} // namespace

base::coordinator_counts sum_of(const std::vector<base::coordinator_counts>& parts) {
  base::coordinator_counts sum;
  std::map<queue_address, base::queue_counts> queues;
  std::map<std::string, base::worker_counts> workers;
  for (const auto& part : parts) {
    for (const auto& q : part.queues) {
      auto& total = queues[q.queue];
      total.queue = q.queue;
      add(total, q);
    }
    for (const auto& w : part.workers)
      add(workers[w.name], w);
    for (const auto& [name, value] : part.gauges)
      sum.gauges[name] += value;
    for (const auto& [reason, count] : part.refused)
      sum.refused[reason] += count;
    sum.shards += part.shards;
    sum.dispatch.add(part.dispatch);
    sum.run.add(part.run);
  }
  for (auto& [address, counts] : queues)
    sum.queues.push_back(std::move(counts));
  for (auto& [name, counts] : workers)
    sum.workers.push_back(std::move(counts));
  return sum;
}

std::vector<base::worker_counts>
workers_of(const std::string& tenant, std::vector<base::worker_counts> workers) {
  std::erase_if(workers, [&](base::worker_counts& w) {
    std::erase_if(w.queues, [&](const queue_address& queue) { return queue.tenant != tenant; });
    std::erase_if(w.running, [&](const running_lease& l) { return l.queue.tenant != tenant; });
    return !w.tenants.contains(tenant) && w.running.empty();
  });
  return workers;
}

void limit_shown(std::vector<base::worker_counts>& workers) {
  if (workers.size() > limits::workers_shown_max)
    workers.resize(limits::workers_shown_max);
  auto share = limits::workers_shown_max / std::max<std::size_t>(workers.size(), 1);
  for (auto& w : workers) {
    w.queue_count = std::max(w.queue_count, static_cast<std::uint32_t>(w.queues.size()));
    keep_first(w.queues, std::min(share, limits::worker_queues_shown_max), std::less<>());
    keep_first(
      w.running,
      std::min(share, limits::worker_leases_shown_max),
      [](const running_lease& a, const running_lease& b) {
        return std::tie(a.since, a.task) < std::tie(b.since, b.task);
      });
  }
}

} // namespace codeq::coordinator
