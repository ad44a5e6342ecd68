// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "ctl/command_options.hpp"
#include "ctl/queue_settings.hpp"

#include <string>
#include <vector>

/// Options of commands that describe a task.
namespace codeq::ctl {

/// A time as 2026-01-31T12:00:00Z.
[[nodiscard]] result<timestamp> parse_time(const std::string& text);

/// `--header`.
[[nodiscard]] option header_option(task_spec& task);

/// `--group`, `--key`, and what a duplicate of the key does.
[[nodiscard]] std::vector<option> key_options(task_spec& task);

/// Only given settings become the task's own; the queue provides the others.
void take_settings(const queue_changes& given, task_spec& task);

/// The text of a payload option: `-` stands for standard input, which is read to its end. Errors:
/// `too_large`; standard input is then not read to its end.
[[nodiscard]] result<std::string> payload_of(const std::string& given);

} // namespace codeq::ctl
