// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <chrono>

namespace codeq::bench {

struct idle_options {
  cluster_options cluster;
  /// Between the first task and the measurement.
  duration settle = std::chrono::seconds(2);
  /// Of the measurement.
  duration length = std::chrono::seconds(10);
};

/// Starts a cluster, has it handle one task, leaves it alone and measures what it uses. The line
/// is a JSON object; CPU is in percent of one core.
[[nodiscard]] result<std::string> measure_idle(const idle_options& options);

} // namespace codeq::bench
