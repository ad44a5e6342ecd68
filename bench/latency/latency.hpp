// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/arrivals.hpp"
#include "load/cluster.hpp"
#include "load/options.hpp"

#include <filesystem>

namespace codeq::bench {

/// A cluster, and tasks that arrive at it one by one.
struct paced_options {
  cluster_options cluster = {
    .workers = 2, .slots = 128, .prefetch = 512, .durability = "os"};
  arrival_options arrivals;
  /// Background load, in percent of the machine's maximum rate of full cycles.
  std::size_t load_percent = 0;
};

/// `latency`: the time from the call of the enqueue to the start of the handler.
[[nodiscard]] measurement latency_measurement(const std::filesystem::path& library);

/// `open-loop`: the same from the time when the enqueue was due, so that a system that delays its
/// callers does not get better figures for it.
[[nodiscard]] measurement open_loop_measurement(const std::filesystem::path& library);

} // namespace codeq::bench
