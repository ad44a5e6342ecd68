// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include <vector>

namespace codeq::coordinator {

/// Sums the counts of several shards; queues, and workers, are merged by name.
[[nodiscard]] coordinator_stats sum_of(const std::vector<coordinator_stats>& parts);

} // namespace codeq::coordinator
