// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "base/coordinator_counts.hpp"

#include <cstddef>
#include <vector>

/// Sums of what the coordinators of a cluster tell about themselves.
namespace codeq::client {

/// Gauge of a sum: the number of coordinators whose part is missing. Absent when none is.
inline constexpr const char* missing_coordinators_gauge = "codeq_coordinators_missing";

/// Adds the counts of another coordinator; queues are merged by name, gauges by theirs.
void add(coordinator_stats& to, coordinator_stats part);

/// Adds the workers of another coordinator; those with the same name are merged. A slot is free at
/// the coordinator that has its credit, so that free slots add up.
void add(std::vector<worker_info>& to, std::vector<worker_info> part);

// The same, to the counts of an own coordinator.

void add(std::vector<base::queue_counts>& to, const std::vector<queue_stats>& part);
void add(std::vector<base::worker_counts>& to, const std::vector<worker_info>& part);

} // namespace codeq::client
