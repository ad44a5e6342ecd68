// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <cstdint>

namespace codeq::bench {

struct rate_options {
  cluster_options cluster = {.slots = 64, .prefetch = 64, .shards = 4};
  /// Starts per second, and at once after a pause.
  std::uint32_t rate = 1000;
  std::uint32_t burst = 50;
  /// How long the tasks take at that rate.
  duration length{10'000};
};

struct rate_figures {
  std::size_t starts = 0;
  /// Starts in the second that has most of them.
  std::size_t most_in_a_second = 0;
  /// Starts relative to those that rate and burst allow from the first to the last one.
  double of_allowed = 0;
};

/// Lets workers, which could do more, run tasks of one limit key that wait already, and reads from
/// the histories of the tasks when each was leased. Errors: those of the cluster and its clients.
[[nodiscard]] result<rate_figures> run_at_rate(const rate_options& options);

} // namespace codeq::bench
