// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/operator_command.hpp"
#include "core/state/shard_state.hpp"

#include <vector>

namespace codeq::core {

/// Tasks of a part, in its order of their sequences.
struct task_selection {
  std::vector<sequence> tasks;
  /// Where the next part begins: the next `after`, or the next `below` when the newest are first.
  sequence after = 0;
  /// False when nothing that its filter could pick is left.
  bool more = false;
};

/// The next tasks in memory of the part: at most `limit` of them, and after at most
/// `limits::bulk_looked_at_max` tasks looked at, so that a command's work is bounded. A segment of
/// another queue counts as one task.
[[nodiscard]] task_selection select_tasks(const shard_state& state, const task_part& part);

} // namespace codeq::core
