// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"

#include <string>
#include <vector>

namespace codeq::coordinator {

/// Sums the counts of several shards; queues, and workers, are merged by name.
[[nodiscard]] base::coordinator_counts sum_of(const std::vector<base::coordinator_counts>& parts);

/// The workers that claim from a queue of the tenant or hold a lease of one of its tasks, with
/// these queues and leases only.
[[nodiscard]] std::vector<base::worker_counts>
workers_of(const std::string& tenant, std::vector<base::worker_counts> workers);

/// Drops what exceeds the limits of a list of workers.
void limit_shown(std::vector<base::worker_counts>& workers);

} // namespace codeq::coordinator
