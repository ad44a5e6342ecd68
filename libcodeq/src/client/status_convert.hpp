// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "protocol/messages.hpp"

#include <string>
#include <utility>

namespace codeq::client {

/// The end of a task as producers get it. Errors: `protocol_error`.
[[nodiscard]] result<ended_task>
read_ended(task_id task, schema::TasksEnded::Ended::Reader from, std::string text);

/// Stores a task's text: as the result of a completed task, as the error text of any other.
template <class Status>
void put_text(Status& status, std::string text) {
  (status.state == task_state::completed ? status.result : status.error_text) = std::move(text);
}

/// Errors: `protocol_error` for a state that this version does not know.
[[nodiscard]] result<task_state> read_state(schema::TaskState from);

} // namespace codeq::client
