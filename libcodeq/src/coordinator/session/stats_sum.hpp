// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "base/coordinator_counts.hpp"

#include <vector>

namespace codeq::coordinator {

/// Sums the counts of several shards; queues, and workers, are merged by name.
[[nodiscard]] base::coordinator_counts sum_of(const std::vector<base::coordinator_counts>& parts);

} // namespace codeq::coordinator
