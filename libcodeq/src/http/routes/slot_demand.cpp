// SPDX-License-Identifier: Apache-2.0
#include "http/routes/slot_demand.hpp"

#include <algorithm>

namespace codeq::http {

namespace {

/// The number of slots that end so many tasks `within` that time.
std::uint64_t slots_for(std::uint64_t tasks, duration run_time, duration within) {
  if (run_time >= within)
    return tasks;
  // A run of less than a millisecond was measured as 0.
  const auto run_ms = static_cast<std::uint64_t>(std::max<duration::rep>(run_time.count(), 1));
  const auto within_ms = static_cast<std::uint64_t>(within.count());
  return (tasks * run_ms + within_ms - 1) / within_ms;
}

} // namespace

slot_demand demand_of(const base::queue_counts& queue, duration within) {
  slot_demand demand;
  demand.backlog = queue.paused ? 0 : queue.ready - std::min(queue.ready, queue.held);
  demand.run_time = queue.run.mean();
  demand.wanted_slots =
    demand.run_time ? slots_for(queue.leased + demand.backlog, *demand.run_time, within)
                    : queue.leased + std::min<std::uint64_t>(demand.backlog, 1);
  if (queue.max_leased > 0)
    demand.wanted_slots = std::min(demand.wanted_slots, queue.max_leased);
  return demand;
}

} // namespace codeq::http
