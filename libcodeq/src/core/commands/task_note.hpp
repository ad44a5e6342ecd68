// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include <cstdint>

namespace codeq::core {

/// An entry of a task's history: what the ordinary records do not keep, or do not keep long enough.
struct task_note {
  sequence seq = 0;
  /// Where the task is: for whoever has to find out whether anything of it is left.
  sequence segment = 0;
  bool aside = false;
  /// How many notes the task had before.
  std::uint32_t number = 0;
  /// When the task was leased; 0 when it was not.
  timestamp granted_at{};
  task_event event;
};

} // namespace codeq::core
