// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/arrivals.hpp"
#include "load/cluster.hpp"
#include "load/options.hpp"

#include <filesystem>

namespace codeq::bench {

/// A cluster and tasks that arrive at it one by one.
struct paced_options {
  cluster_options cluster = {
    .workers = 2, .slots = 128, .prefetch = 512, .durability = "os", .library = {}};
  arrival_options arrivals;
  /// How much of what this machine can do in full cycles goes on meanwhile, in percent.
  std::size_t load_percent = 0;
};

/// `latency`: the time from the call of the enqueue to the begin of the handler.
[[nodiscard]] measurement latency_measurement(const std::filesystem::path& library);

/// `open-loop`: the same from the time when the task was due to be enqueued, so that a system that
/// holds its callers up does not look the better for it.
[[nodiscard]] measurement open_loop_measurement(const std::filesystem::path& library);

} // namespace codeq::bench
