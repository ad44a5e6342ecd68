// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/seq_run.hpp"

#include <optional>
#include <vector>

namespace codeq::core {

/// Whose key it was, of a task whose segment is closed.
struct retained_key {
  sequence seq = 0;
  /// Where in the log the task became live; the latest task of a key has it.
  log_position since = 0;
  /// From this shard time on nobody has the key.
  timestamp expires_at;

  friend bool operator==(const retained_key&, const retained_key&) = default;
};

struct closed_key {
  task_key name;
  retained_key record;
};

/// What the store holds of a key.
struct recalled_key {
  task_key name;
  /// Empty when no closed task has it.
  std::optional<retained_key> record;
};

/// Tells a turn what the store holds of the keys that its next commands name; the state holds none
/// of closed tasks. Forgotten at the end of the turn. No effects.
struct recall_keys {
  std::vector<recalled_key> keys;
};

} // namespace codeq::core
