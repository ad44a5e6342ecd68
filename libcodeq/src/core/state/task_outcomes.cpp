// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_outcomes.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::core {

namespace {

/// The outcome with the number of its holders; empty when there is none.
std::optional<number_pair> find_held(const shard_state& state, log_position outcome) {
  auto at = state.held_outcomes.first_from({outcome, 0});
  return at && at->first == outcome ? at : std::nullopt;
}

void change_holders(shard_state& state, log_position outcome, int by) {
  auto& held = state.held_outcomes;
  auto at = find_held(state, outcome);
  auto holders = (at ? at->second : 0) + static_cast<std::uint64_t>(by);
  if (at)
    held.erase(*at);
  if (holders > 0)
    held.insert({outcome, holders});
  if (!at || holders == 0)
    state.changed_holds.push_back(outcome);
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

void settle_holds(shard_state& state) {
  auto changed = std::exchange(state.changed_holds, {});
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  auto gone = std::stable_partition(changed.begin(), changed.end(), [&](log_position outcome) {
    return find_held(state, outcome).has_value();
  });
  std::vector<log_position> released(gone, changed.end());
  changed.erase(gone, changed.end());
  state.held_at_snapshot = state.held_at_snapshot.changed(std::move(changed), std::move(released));
}

} // namespace codeq::core
