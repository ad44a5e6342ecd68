// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"
#include "load/options.hpp"

#include <string>

namespace codeq::bench {

struct backlog_options {
  /// The worker runs in this process, which can then measure when its first task begins.
  cluster_options cluster = {
    .workers = 0, .slots = 16, .prefetch = 512, .durability = "os"};
  std::size_t tasks = 1'000'000;
  /// Payload size of each task, in bytes.
  std::size_t payload = 256;
  std::size_t queues = 4;
  std::size_t priorities = 3;
  /// Batch size for half of the tasks; the other half is enqueued one by one. Every tenth batch and
  /// every tenth single task is scheduled.
  std::size_t batch = 64;
  /// Number of tasks in one timed round of claims, and number of rounds.
  std::size_t claims = 100'000;
  std::size_t rounds = 3;
  /// `pending`; or `keyed`, `grouped`: the same with a key each, or in groups of ten; or
  /// `retrying`: every task that is not scheduled has failed once and waits for a retry.
  std::string state = "pending";
  /// Pause between filling the queues and measuring.
  duration settle = std::chrono::seconds(12);

  /// Tasks that a worker takes beyond the timed ones until it has ended.
  [[nodiscard]] std::size_t spare() const noexcept {
    return 4 * (cluster.slots + cluster.prefetch);
  }

  /// Maximum number of tasks claimed from the full coordinator, including those after its restart.
  [[nodiscard]] std::size_t claimed() const noexcept {
    return rounds * (claims + spare()) + spare();
  }
};

/// `backlog`: the cost of many waiting tasks: memory of the coordinator, claims per second compared
/// with a coordinator that has only `claims` tasks, and the time from the end of a killed
/// coordinator to the first task at a handler of the next one. Lost tasks are found by the
/// coordinator's counters and by a sample of ids.
[[nodiscard]] measurement backlog_measurement();

} // namespace codeq::bench
