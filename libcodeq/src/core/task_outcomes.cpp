// SPDX-License-Identifier: Apache-2.0
#include "core/task_outcomes.hpp"

namespace codeq::core {

bool holds_outcome(const task_entry& entry) {
  return entry.outcome != 0 && !is_terminal(entry.state);
}

void hold_outcome(shard_state& state, const task_entry& entry) {
  if (holds_outcome(entry))
    ++state.held_outcomes[entry.outcome];
}

void release_outcome(shard_state& state, const task_entry& entry) {
  if (!holds_outcome(entry))
    return;
  auto at = state.held_outcomes.find(entry.outcome);
  if (--at->second == 0)
    state.held_outcomes.erase(at);
}

} // namespace codeq::core
