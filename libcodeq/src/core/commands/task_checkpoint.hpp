// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/seq_run.hpp"

#include <cstdint>
#include <vector>

/// The checkpoint of a task: what the handler of one attempt saves for the next attempt.
namespace codeq::core {

/// Identifies one save of a checkpoint. Its bytes are on disk only.
struct checkpoint_mark {
  /// The attempt that saved it.
  fencing_token token{};
  /// The save's number within its attempt, from 1. A save that arrives after a later one changes
  /// nothing.
  std::uint32_t number = 0;

  friend bool operator==(const checkpoint_mark&, const checkpoint_mark&) = default;
};

/// The checkpoint of a task, as its attempt saves it.
struct lease_checkpoint {
  sequence seq = 0;
  checkpoint_mark mark;
  bytes data;
};

/// Checkpoints of tasks that changed in one turn. A saved one replaces the task's previous one; the
/// dropped ones belong to tasks that ended. No task is named twice.
struct checkpoints_changed {
  log_position position = 0;
  timestamp at;
  std::vector<lease_checkpoint> saved;
  std::vector<sequence> dropped;
};

} // namespace codeq::core
