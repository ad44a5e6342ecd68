// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ctl/operator_api.hpp"

#include <string>
#include <utility>
#include <vector>

/// Paths, queries and bodies of an operator's requests over HTTP.
namespace codeq::ctl {

[[nodiscard]] std::string path_of(task_id task);
[[nodiscard]] std::string path_of(const task_key& key);
[[nodiscard]] std::string path_of(const queue_address& queue);
[[nodiscard]] std::string path_of(const limit_address& name);
[[nodiscard]] const char* path_of(dead_change what);

/// The path of a verb for a key of a limit; the empty key needs no segment of its own.
[[nodiscard]] std::string
path_of(const limit_address& name, const std::string& key, const char* verb);

/// The path and query of a page of a limit's keys.
[[nodiscard]] std::string path_of(const limit_address& name, const limit_keys_request& page);

/// The path of a task with a verb behind it, such as `/events`.
[[nodiscard]] std::string path_with(const task_target& task, const std::string& verb);

/// Adds a parameter that is not the first; does nothing when the value is empty.
void add_parameter(std::string& query, const std::string& name, const std::string& value);

/// The fields that select dead tasks in a request. Times become ages, since the gateway's clock
/// decides.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of(const dead_filter& filter);

/// The query of a list of dead tasks, behind its first parameter.
[[nodiscard]] std::string dead_query(const task_filter& filter);

/// The same of a list of any tasks.
[[nodiscard]] std::string task_query(const task_filter& filter);

/// The body of a request that starts an operation.
[[nodiscard]] std::string body_of(const operation_start& what);

} // namespace codeq::ctl
