// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "base/json_writer.hpp"
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

} // namespace codeq::ctl
