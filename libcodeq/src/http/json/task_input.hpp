// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "base/json_writer.hpp"
#include "http/json/input.hpp"

#include <string>

/// Converts tasks and settings in requests to the types of the rest of codeq; pure.
namespace codeq::http {

/// The task to enqueue for a tenant, from the values of `task_fields`.
[[nodiscard]] task_spec make_task(const input& from, const std::string& tenant);

/// Takes the key that a header names. Errors: `invalid_argument` when the task has another one.
[[nodiscard]] result<void> use_key_of_header(const std::string& key, task_spec& task);

/// Refuses a cap below the base. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_retry(const retry_policy& retry);

/// Refuses values that do not fit each other or the time. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_task(const task_spec& task, timestamp now);

/// Refuses settings, of `settings_fields`, that no queue can have. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_settings(const input& from);

/// The weights of fairness keys that were given, of `settings_fields`.
[[nodiscard]] weight_changes weights_of(const input& from);

/// Changes the settings that were given, of `settings_fields`.
void apply_settings(const input& from, queue_config& to);

void write_settings(base::json_writer& json, const queue_config& config);

} // namespace codeq::http
