// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/command.hpp"
#include "core/commands/event.hpp"
#include "core/commands/retained_key.hpp"
#include "core/state/shard_state.hpp"

#include <map>
#include <optional>
#include <vector>

namespace codeq::test {

/// The key records of a shard's closed tasks, for tests that drive turns without a shard. A record
/// is known as soon as its turn is sealed.
class closed_keys {
public:
  void note(const std::vector<core::event>& events);

  void note(const core::closed_key& closed);

  /// The records that the shard needs before the command; empty when there are none.
  [[nodiscard]] std::optional<core::recall_keys> recall(const core::command& c) const;

  /// The task that has the key.
  [[nodiscard]] std::optional<core::key_holder>
  owner_of(core::shard_state& state, const task_key& name, timestamp now) const;

private:
  [[nodiscard]] core::recall_keys recall(const std::vector<task_key>& names) const;

  std::map<task_key, core::retained_key> records_;
};

} // namespace codeq::test
