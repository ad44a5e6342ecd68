// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "protocol/messages.hpp"

#include <string>

namespace codeq::client {

/// The status of an ended task as producers get it: id, state, attempt and text only. Errors:
/// `protocol_error`.
[[nodiscard]] result<task_status>
ended_status(task_id task, schema::TasksEnded::Ended::Reader from, std::string text);

/// Stores a task's text: as the result of a completed task, as the error text of any other.
void put_text(task_status& status, std::string text);

/// Errors: `protocol_error` for a state that this version does not know.
[[nodiscard]] result<task_state> read_state(schema::TaskState from);

} // namespace codeq::client
