// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/seq_run.hpp"

#include <optional>
#include <vector>

namespace codeq::core {

/// The task that had a key, after its segment was closed.
struct retained_key {
  sequence seq = 0;
  /// Position in the log where the task became live; the latest task of a key has it.
  log_position since = 0;
  /// Shard time from which on the key is free.
  timestamp expires_at;

  friend bool operator==(const retained_key&, const retained_key&) = default;
};

struct closed_key {
  task_key name;
  retained_key record;
};

/// The store's answer for a key.
struct recalled_key {
  task_key name;
  /// Empty when no closed task has the key.
  std::optional<retained_key> record;
};

/// Provides a turn with the store's answers for the keys of its next commands, since the state
/// contains no keys of closed tasks. Dropped at the end of the turn. No effects.
struct recall_keys {
  std::vector<recalled_key> keys;
};

} // namespace codeq::core
