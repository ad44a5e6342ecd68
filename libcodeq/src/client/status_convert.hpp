// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "protocol/messages.hpp"

#include <string>

namespace codeq::client {

/// What a producer learns of a task that ended: id, state, attempt and text; nothing else is told.
/// Errors: `protocol_error`.
[[nodiscard]] result<task_status>
ended_status(task_id task, schema::TasksEnded::Ended::Reader from, std::string text);

/// Puts a task's text where it belongs: a completed task has a result, any other an error text.
void put_text(task_status& status, std::string text);

/// Errors: `protocol_error` for a state that this version does not know.
[[nodiscard]] result<task_state> read_state(schema::TaskState from);

} // namespace codeq::client
