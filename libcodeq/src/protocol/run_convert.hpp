// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "protocol/messages.hpp"

#include <string_view>
#include <vector>

/// New tasks in enqueues and completions; used by the conversions of messages only.
namespace codeq::protocol {

/// The tasks of a message: runs, and their bodies in a separate list.
struct new_tasks {
  capnp::List<schema::EnqueueRun>::Reader runs;
  schema::Packed::Reader tasks;
  /// Noun for a task in error texts, to which its index is added; empty: errors name neither.
  std::string_view noun{};
};

/// The tasks of a message with the bytes `body`, checked against all limits except that on their
/// number. Delays count from the shard time `now`. Errors: `protocol_error` when runs and bodies do
/// not fit together; otherwise the code of the first field that is out of bounds.
[[nodiscard]] result<std::vector<core::enqueue_run>>
read_runs(const bytes& body, new_tasks from, timestamp now);

} // namespace codeq::protocol
