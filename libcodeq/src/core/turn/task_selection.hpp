// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/operator_command.hpp"
#include "core/state/shard_state.hpp"

#include <vector>

namespace codeq::core {

/// The selected tasks of a part, in its order of sequences.
struct task_selection {
  std::vector<sequence> tasks;
  /// Where the next part begins: the next `after`, or the next `below` when the newest come first.
  sequence after = 0;
  /// False when no further tasks can match the filter.
  bool more = false;
};

/// The next tasks of the part that are in memory: at most `limit`, after examining at most
/// `tuning::bulk_looked_at_max` tasks, so that a command's work is bounded. A segment of another
/// queue counts as one task.
[[nodiscard]] task_selection select_tasks(const shard_state& state, const task_part& part);

} // namespace codeq::core
