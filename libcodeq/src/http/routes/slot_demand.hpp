// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "base/coordinator_counts.hpp"

#include <cstdint>
#include <optional>

namespace codeq::http {

/// How many slots of workers a queue needs, for autoscalers.
struct slot_demand {
  /// Ready tasks that a free slot could start: none of a paused queue, and none that limits hold
  /// back.
  std::uint64_t backlog = 0;
  /// Mean time from the grant of a lease to the report that ended it; empty: none is known.
  std::optional<duration> run_time{};
  std::uint64_t wanted_slots = 0;
};

/// The number of slots with which a task that becomes ready now ends `within` that time: leased
/// tasks and backlog, times run time, divided by `within`, rounded up; at most one for each task,
/// and at most `max_leased`. While no run time is known, it is the number of leases, and one more
/// if tasks wait: a restart of the coordinator, which forgets run times, takes no slot away.
///
/// Leases are no measure of the slots that are needed, since workers also lease the tasks that they
/// prefetch: a sum of the leases and of what the backlog needs would grow with each adjustment, as
/// long as there is a backlog. This number settles where it keeps up with new tasks, however often
/// the slots are adjusted; by Little's law a task then ends `within` that time.
/// @pre `within` is positive
[[nodiscard]] slot_demand demand_of(const base::queue_counts& queue, duration within);

} // namespace codeq::http
