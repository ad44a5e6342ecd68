// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

namespace codeq::bench {

struct cycle_options {
  cluster_options cluster = {.slots = 16, .prefetch = 512, .library = {}};
  std::size_t tasks = 200'000;
  /// Bytes of each.
  std::size_t payload = 256;
  std::size_t producers = 2;
  /// Tasks of one enqueue request.
  std::size_t batch = 64;
};

/// Runs tasks from an empty queue to the last acknowledged end: enqueued, claimed under a lease,
/// handled by an actor, result stored. Then reads back that every task is completed and that a
/// sample of results is right. The line is a JSON object. Errors: `unavailable` when anything is
/// missing.
[[nodiscard]] result<std::string> measure_cycle(const cycle_options& options);

} // namespace codeq::bench
