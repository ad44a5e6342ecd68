// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/seq_run.hpp"

#include <cstdint>
#include <vector>

/// What an attempt hands on to the next one: the checkpoint of a task, which its handler saved.
/// (The checkpoint of a shard is something else: `checkpoint_taken`.)
namespace codeq::core {

struct shard_state;

/// Whose it is. Its bytes are on disk only.
struct handed_on_mark {
  /// Of the attempt that saved it.
  fencing_token token{};
  /// Counts what that attempt saved, from 1: one that was overtaken on its way changes nothing.
  std::uint32_t number = 0;

  friend bool operator==(const handed_on_mark&, const handed_on_mark&) = default;
};

/// The checkpoint of a task, as its attempt saves it.
struct lease_checkpoint {
  sequence seq = 0;
  handed_on_mark mark;
  bytes data;
};

/// Checkpoints of tasks from then on, each in place of the one before, and those that are gone,
/// because their tasks ended. No task is named twice.
struct checkpoints_handed_on {
  log_position position = 0;
  timestamp at;
  std::vector<lease_checkpoint> saved;
  std::vector<sequence> dropped;
};

/// True when it takes the place of what the task has: the later of one attempt, and what an attempt
/// saves in place of what those before it saved. @pre the attempt is the task's latest
[[nodiscard]] bool is_news(const shard_state& state, sequence seq, const handed_on_mark& mark);

// The steps of the event; a turn takes the same ones while it decides.

void hand_on(shard_state& state, sequence seq, const handed_on_mark& mark);
void forget_checkpoint(shard_state& state, sequence seq);

} // namespace codeq::core
