// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace codeq::worker {

/// A program that handles a queue.
struct exec_command {
  std::string queue;
  /// Where the program lies; found by the `PATH` of the worker.
  std::string path;
  /// The first is the program as it was written.
  std::vector<std::string> arguments;
};

/// Reads `QUEUE=command args` and looks the program up. Errors: `invalid_argument` for the text;
/// `unavailable` when there is no such program.
[[nodiscard]] result<exec_command> parse_exec_command(std::string_view text);

/// Splits a command line; no shell is involved, so nothing is expanded. White space separates
/// arguments; `'...'` keeps everything as it is; `"..."` keeps everything but a backslash before
/// `"` or `\`; outside quotes a backslash keeps the next character. Quoted and bare parts that
/// touch are one argument. Errors: `invalid_argument` for an open quote, a backslash at the end, no
/// argument, or more than `limits::exec_arguments_max`.
[[nodiscard]] result<std::vector<std::string>> split_command(std::string_view text);

/// The file that running `name` would run: itself if it has a `/`, else the first executable in
/// `PATH`. Errors: `unavailable`.
[[nodiscard]] result<std::string> find_program(const std::string& name);

} // namespace codeq::worker
