// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"
#include "load/options.hpp"

#include <string>

namespace codeq::bench {

struct backlog_options {
  /// The worker is in this process, so that it tells when it has the first task.
  cluster_options cluster = {
    .workers = 0, .slots = 16, .prefetch = 512, .durability = "os", .library = {}};
  std::size_t tasks = 1'000'000;
  /// Bytes of each.
  std::size_t payload = 256;
  std::size_t queues = 4;
  std::size_t priorities = 3;
  /// Of the half that is not enqueued one by one; every tenth batch and single task is scheduled.
  std::size_t batch = 64;
  /// Tasks whose claims are timed at once, and how often.
  std::size_t claims = 100'000;
  std::size_t rounds = 3;
  /// `pending`, or `retrying`: every task that is not scheduled has failed once and waits.
  std::string state = "pending";
  /// After filling and before measuring.
  duration settle = std::chrono::seconds(12);

  /// Tasks beyond those whose claims are timed: what a worker takes until it has ended.
  [[nodiscard]] std::size_t spare() const noexcept {
    return 4 * (cluster.slots + cluster.prefetch);
  }

  /// Pending tasks that are claimed from the full coordinator at most, once more after its restart.
  [[nodiscard]] std::size_t claimed() const noexcept {
    return rounds * (claims + spare()) + spare();
  }
};

/// `backlog`: what many waiting tasks cost: memory of the coordinator, claims per second with them
/// and with `claims` tasks only, in turn, and the time from the end of a killed coordinator to the
/// first task at a handler of the next. Tasks that are lost are counted by the coordinator's
/// counters and looked for by a sample of ids.
[[nodiscard]] measurement backlog_measurement();

} // namespace codeq::bench
