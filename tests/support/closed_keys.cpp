// SPDX-License-Identifier: Apache-2.0
#include "support/closed_keys.hpp"

#include "core/commands/named_keys.hpp"
#include "core/state/task_keys.hpp"

namespace codeq::test {

void closed_keys::note(const std::vector<core::event>& events) {
  for (const auto& e : events) {
    if (const auto* snapshot = std::get_if<core::snapshot_taken>(&e))
      for (const auto& closed : snapshot->closed_keys)
        note(closed);
  }
}

void closed_keys::note(const core::closed_key& closed) {
  records_.insert_or_assign(closed.name, closed.record);
}

core::recall_keys closed_keys::recall(const std::vector<task_key>& names) const {
  core::recall_keys recalled;
  for (const auto& name : names) {
    auto at = records_.find(name);
    recalled.keys.push_back(
      {name, at == records_.end() ? std::nullopt : std::optional{at->second}});
  }
  return recalled;
}

std::optional<core::recall_keys> closed_keys::recall(const core::command& c) const {
  auto named = core::named_keys_of(c);
  if (named.names.empty())
    return std::nullopt;
  return recall(named.names);
}

std::optional<core::key_holder>
closed_keys::owner_of(core::shard_state& state, const task_key& name, timestamp now) const {
  core::recall(state, recall({name}));
  auto owner = core::owner_of(state, name, now);
  state.keys.recalled.clear();
  return owner;
}

} // namespace codeq::test
