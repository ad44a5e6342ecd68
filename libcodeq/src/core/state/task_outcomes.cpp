// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_outcomes.hpp"

#include <utility>

namespace codeq::core {

bool holds_outcome(const task_entry& entry) {
  return entry.outcome != 0 && !is_terminal(entry.state);
}

void hold_outcome(shard_state& state, const task_entry& entry) {
  if (holds_outcome(entry))
    state.held_outcomes.add(entry.outcome);
}

void release_outcome(shard_state& state, const task_entry& entry) {
  if (holds_outcome(entry))
    state.held_outcomes.remove(entry.outcome);
}

void settle_holds(shard_state& state) {
  auto changed = state.held_outcomes.settle();
  state.held_at_snapshot =
    state.held_at_snapshot.changed(std::move(changed.added), std::move(changed.removed));
}

} // namespace codeq::core
