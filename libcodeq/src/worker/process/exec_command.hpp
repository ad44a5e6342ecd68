// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace codeq::worker {

/// A program that handles a queue.
struct exec_command {
  /// A name or a pattern.
  std::string queue;
  /// Path of the program's file, found in the worker's `PATH`.
  std::string path;
  /// The first is the program's name as it was given.
  std::vector<std::string> arguments;
};

/// Parses `QUEUE=command args` and looks up the program. Errors: `invalid_argument` for the text;
/// `unavailable` when the program is not found.
[[nodiscard]] result<exec_command> parse_exec_command(std::string_view text);

/// Splits a command line into arguments. No shell is involved, so nothing is expanded. White space
/// separates arguments; `'...'` keeps all characters; `"..."` keeps all characters except a
/// backslash before `"` or `\`; outside of quotes a backslash keeps the next character. Adjacent
/// quoted and bare parts are one argument. Errors: `invalid_argument` for an open quote, a
/// backslash at the end, no argument, or more than `limits::exec_arguments_max`.
[[nodiscard]] result<std::vector<std::string>> split_command(std::string_view text);

/// The file that `name` would execute: itself if it contains a `/`, else the first executable in
/// `PATH`. Errors: `unavailable`.
[[nodiscard]] result<std::string> find_program(const std::string& name);

} // namespace codeq::worker
