// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/worker_node_counts.hpp"

#include <string>

/// The names and values of a worker's metrics.
namespace codeq::observe {

/// All metrics in the Prometheus text format.
[[nodiscard]] std::string worker_metrics_text(const base::worker_node_counts& counts);

} // namespace codeq::observe
