// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/operator_command.hpp"
#include "core/state/shard_state.hpp"

#include <string_view>
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

/// True when a list with this filter cannot be answered from memory alone: it may contain ended
/// tasks, or selects tasks by their texts, headers or workers.
[[nodiscard]] bool needs_store(const task_filter& filter);

/// False when the segment's tasks cannot match the filter, by what they have in common.
[[nodiscard]] bool may_match(
  const task_filter& filter,
  const queue_address& queue,
  timestamp enqueued_at,
  std::string_view group,
  std::string_view key);

/// The next tasks of the part that are in memory: at most `limit`, after examining at most
/// `tuning::bulk_looked_at_max` tasks, so that a command's work is bounded. A segment of another
/// queue counts as one task. Tasks that may match a filter which needs the store are included.
[[nodiscard]] task_selection select_tasks(const shard_state& state, const task_part& part);

} // namespace codeq::core
