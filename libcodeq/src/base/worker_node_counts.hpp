// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "base/coordinator_counts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

/// The counts of a worker's process, for its metrics.
namespace codeq::base {

/// Name of the queue, and of the tenant, that stands for all others in metrics.
inline constexpr std::string_view all_others = "*";

inline constexpr std::size_t dispositions = static_cast<std::size_t>(disposition::limited) + 1;

/// Counts of a queue's attempts on a worker since its start.
struct attempt_counts {
  /// By `disposition`.
  std::array<std::uint64_t, dispositions> ended{};
  /// Attempts whose lease was lost while they waited or ran.
  std::uint64_t lost = 0;
  /// From the start of the handler to its outcome.
  time_counts run;
};

struct worker_node_counts {
  std::uint64_t slots = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  /// Coordinators that are connected, and all that were configured.
  std::uint64_t links_up = 0;
  std::uint64_t links = 0;
  /// Reports that no coordinator has answered yet.
  std::uint64_t unanswered = 0;
  bool is_draining = false;
  /// By queue; the ones beyond the limit are summed under `*`.
  std::map<std::string, attempt_counts> queues;
};

} // namespace codeq::base
