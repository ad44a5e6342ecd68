// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "protocol/messages.hpp"

#include <string>

namespace codeq::client {

/// What a producer learns of a task that ended: id, state, attempt and text; nothing else is told.
/// Errors: `protocol_error`.
[[nodiscard]] result<task_status>
ended_status(task_id task, schema::TasksEnded::Ended::Reader from, std::string text);

/// An answer with the number of its request.
template <class T>
struct numbered {
  std::uint64_t number = 0;
  result<T> answer;
};

/// Errors of the outer result: `protocol_error`; of the inner: what the coordinator said.
[[nodiscard]] result<numbered<task_status>> read_status(const protocol::status_reply& reply);

[[nodiscard]] result<numbered<change_outcome>> read_change(const protocol::change_reply& reply);

[[nodiscard]] result<numbered<coordinator_stats>> read_stats(const protocol::stats_reply& reply);

} // namespace codeq::client
