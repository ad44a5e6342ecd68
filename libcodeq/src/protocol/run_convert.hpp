// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "protocol/messages.hpp"

#include <string_view>
#include <vector>

/// New tasks as enqueues and completions carry them; for the conversions of messages only.
namespace codeq::protocol {

/// Tasks as they stand in a message: runs, and their bodies beside them.
struct new_tasks {
  capnp::List<schema::EnqueueRun>::Reader runs;
  schema::Packed::Reader tasks;
  /// What refusals call one of them, with its place; empty to leave both out.
  std::string_view noun{};
};

/// The tasks of a message whose bytes are `body`, checked against all their limits but their
/// number; `now` is the shard time that delays count from. Errors: `protocol_error` when runs and
/// bodies do not fit; else the code of the first field that is out of bounds.
[[nodiscard]] result<std::vector<core::enqueue_run>>
read_runs(const bytes& body, new_tasks from, timestamp now);

} // namespace codeq::protocol
