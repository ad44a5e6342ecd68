// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "core/commands/command.hpp"
#include "core/commands/seq_run.hpp"

#include <vector>

namespace codeq::core {

/// The answer to a request: its tasks, in order.
struct request_answer {
  std::vector<seq_run> tasks;
  /// One per task; empty when all were created.
  std::vector<enqueue_kind> kinds{};
};

/// The answer to a request that contains tasks with keys. It cannot be derived from segments, since
/// a duplicate has none.
struct answered_request {
  request_id request;
  /// Tenant of its first task.
  std::string tenant;
  request_answer answer;
};

} // namespace codeq::core
