// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "base/worker_node_counts.hpp"

#include <map>
#include <string>
#include <unordered_map>

namespace codeq::worker {

/// Maximum number of queues of a node that are counted by themselves; further ones are counted
/// together under `*`. A queue keeps its place until the process ends.
inline constexpr std::size_t metered_queues_max = 100;

/// Counts how the attempts of a node ended. Pure.
class attempt_meter {
public:
  void ended(const std::string& queue, disposition how, duration ran);

  /// The attempt lost its lease, so its outcome does not count.
  void lost(const std::string& queue) { ++of(queue).lost; }

  [[nodiscard]] std::map<std::string, base::attempt_counts> counts() const {
    return {counts_.begin(), counts_.end()};
  }

private:
  base::attempt_counts& of(const std::string& queue);

  std::unordered_map<std::string, base::attempt_counts> counts_;
};

} // namespace codeq::worker
