// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include <cstdint>

namespace codeq::core {

/// An entry of a task's history: an event that the ordinary records do not contain, or not long
/// enough.
struct task_note {
  sequence seq = 0;
  /// How many tasks it is about: this one and its neighbours in the segment, of which the same is
  /// told as their first entry. Their tokens follow each other as well.
  std::uint32_t tasks = 1;
  /// The task's segment, for checking whether any record of the task is left.
  sequence segment = 0;
  bool aside = false;
  /// Number of earlier entries of the task.
  std::uint32_t number = 0;
  /// When the task was leased; 0 when it was not.
  timestamp granted_at{};
  task_event event;
};

} // namespace codeq::core
