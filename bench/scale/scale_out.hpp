// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <chrono>

namespace codeq::bench {

struct scale_out_options {
  cluster_options cluster = {.workers = 1, .slots = 8, .prefetch = 8, .library = {}};
  /// Worker nodes in the end.
  std::size_t nodes = 4;
  /// How long each number of nodes is measured.
  duration length = std::chrono::seconds(5);
  /// Between a node's start and the measurement.
  duration settle = std::chrono::seconds(2);
};

/// Starts one node under a backlog of tasks whose handler sleeps 50 ms, then adds nodes one by one
/// without telling anybody, and measures what is completed per second with each number of them. The
/// line is a JSON object. Errors: `unavailable`, also when a task did not complete at its first
/// attempt.
[[nodiscard]] result<std::string> measure_scale_out(const scale_out_options& options);

} // namespace codeq::bench
