// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "base/json_writer.hpp"
#include "http/json/json_reader.hpp"

#include <string>

/// What clients say of tasks and queues, as the rest of codeq has it; pure.
namespace codeq::http {

/// Reads a task to enqueue for a tenant. Errors: `invalid_argument` with the text to answer.
[[nodiscard]] result<task_spec> read_task(json_object& from, const std::string& tenant);

/// Changes the settings that the object names. Errors: as above.
[[nodiscard]] result<void> read_settings(json_object& from, queue_config& to);

void write_settings(base::json_writer& json, const queue_config& config);

} // namespace codeq::http
