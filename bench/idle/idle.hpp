// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <chrono>

namespace codeq::bench {

struct idle_options {
  cluster_options cluster;
  /// Pause between the first task and the measurement.
  duration settle = std::chrono::seconds(2);
  /// Duration of the measurement.
  duration length = std::chrono::seconds(10);
};

/// Starts a cluster, lets it handle one task, then leaves it idle and measures its use of
/// resources. Returns a JSON object; CPU is in percent of one core.
[[nodiscard]] result<std::string> measure_idle(const idle_options& options);

} // namespace codeq::bench
