// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/stats_sum.hpp"

#include <algorithm>
#include <map>

namespace codeq::coordinator {

namespace {

void add(base::queue_counts& to, const base::queue_counts& part) {
  to.scheduled += part.scheduled;
  to.gated += part.gated;
  to.ready += part.ready;
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
  to.redriven += part.redriven;
  to.dispatch.add(part.dispatch);
  to.run.add(part.run);
  for (std::size_t i = 0; i < to.ready_by_priority.size(); ++i)
    to.ready_by_priority[i] += part.ready_by_priority[i];
}

void add(base::worker_counts& to, const base::worker_counts& part) {
  to.name = part.name;
  to.is_connected = to.is_connected || part.is_connected;
  to.free_slots += part.free_slots;
  to.leases += part.leases;
  to.tenants.insert(part.tenants.begin(), part.tenants.end());
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
    sum.dispatch.add(part.dispatch);
    sum.run.add(part.run);
  }
  for (auto& [address, counts] : queues)
    sum.queues.push_back(std::move(counts));
  for (auto& [name, counts] : workers)
    sum.workers.push_back(std::move(counts));
  return sum;
}

} // namespace codeq::coordinator
