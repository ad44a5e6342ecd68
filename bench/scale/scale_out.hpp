// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <chrono>

namespace codeq::bench {

struct scale_out_options {
  cluster_options cluster = {.workers = 1, .slots = 8, .prefetch = 8};
  /// Number of worker nodes at the end.
  std::size_t nodes = 4;
  /// How long each number of nodes is measured.
  duration length = std::chrono::seconds(5);
  /// Pause between a node's start and the measurement.
  duration settle = std::chrono::seconds(2);
};

/// Starts one node with a backlog of tasks whose handler sleeps 50 ms, then adds nodes one by one,
/// without any other change, and measures the tasks completed per second with each number of nodes.
/// Returns a JSON object. Errors: `unavailable`, also when a task needed a second attempt.
[[nodiscard]] result<std::string> measure_scale_out(const scale_out_options& options);

} // namespace codeq::bench
