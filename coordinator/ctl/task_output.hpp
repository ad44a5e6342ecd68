// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "base/json_writer.hpp"
#include "ctl/command.hpp"
#include "ctl/operator_api.hpp"

#include <string>

namespace codeq::ctl {

/// Writes a task without its texts as a JSON object.
void write_summary(base::json_writer& out, const task_summary& task);

/// A task with its result or error text: one JSON object on one line.
[[nodiscard]] std::string status_json(const task_status& status);

/// The status as lines for people.
[[nodiscard]] std::string status_text(const task_status& status);

/// How a task ended, as a producer sees it: one JSON object on one line. @pre end.status
[[nodiscard]] std::string ended_json(const task_end& end);

/// Reports why the wait for a task's end timed out: no coordinator can be reached, or what the task
/// waits for, with the error of its last attempt. Returns the exit status. Asks the coordinator.
[[nodiscard]] int fail_waiting(const context& with, task_id task, const error& late);

} // namespace codeq::ctl
