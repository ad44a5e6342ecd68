// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_outcomes.hpp"

namespace codeq::core {

namespace {

void change_holders(shard_state& state, log_position outcome, int by) {
  auto& held = state.held_outcomes;
  auto at = held.first_from({outcome, 0});
  bool is_held = at && at->first == outcome;
  auto holders = (is_held ? at->second : 0) + static_cast<std::uint64_t>(by);
  if (is_held)
    held.erase(*at);
  if (holders > 0)
    held.insert({outcome, holders});
}

} // namespace

bool holds_outcome(const task_entry& entry) {
  return entry.outcome != 0 && !is_terminal(entry.state);
}

void hold_outcome(shard_state& state, const task_entry& entry) {
  if (holds_outcome(entry))
    change_holders(state, entry.outcome, 1);
}

void release_outcome(shard_state& state, const task_entry& entry) {
  if (holds_outcome(entry))
    change_holders(state, entry.outcome, -1);
}

} // namespace codeq::core
