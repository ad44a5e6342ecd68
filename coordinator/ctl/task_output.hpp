// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "base/json_writer.hpp"
#include "ctl/operator_api.hpp"

#include <string>

namespace codeq::ctl {

/// Adds all fields of a task that `get` shows to a JSON object.
void write_status(base::json_writer& out, const task_status& status);

/// The same as one JSON object on one line.
[[nodiscard]] std::string status_json(const task_status& status);

/// The status as lines for people.
[[nodiscard]] std::string status_text(const task_status& status);

/// How a task ended, as a producer sees it: one JSON object on one line. @pre end.status
[[nodiscard]] std::string ended_json(const task_end& end);

} // namespace codeq::ctl
