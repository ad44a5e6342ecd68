// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "core/commands/command.hpp"
#include "core/commands/seq_run.hpp"

#include <vector>

namespace codeq::core {

/// What a request was told of its tasks, in their order.
struct request_answer {
  std::vector<seq_run> tasks;
  /// One per task, or empty when all were created.
  std::vector<enqueue_kind> kinds{};
};

/// The answer of a request some of whose tasks have keys: no segment tells it, since a duplicate
/// has none.
struct answered_request {
  request_id request;
  /// Of its first task.
  std::string tenant;
  request_answer answer;
};

} // namespace codeq::core
