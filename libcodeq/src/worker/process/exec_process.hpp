// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::worker {

/// Parameters of one run of a program.
struct process_request {
  std::string path;
  std::vector<std::string> arguments;
  /// `NAME=value`; the complete environment.
  std::vector<std::string> environment;
  /// Written to its standard input.
  bytes input;
  /// If it writes more standard output than this, it is killed.
  std::size_t output_bytes_max = limits::result_bytes_max;
  /// Only this many bytes of the end of standard error are kept.
  std::size_t error_bytes_kept = limits::error_text_bytes_max;
  /// Called with each line of standard error as it is written; may be empty.
  std::function<void(std::string_view line)> on_error_line{};
  /// Time to end after SIGTERM.
  duration kill_grace = limits::exec_kill_grace_default;
  /// Ends the run early. Never null.
  std::shared_ptr<cancellation> cancel;
};

struct process_end {
  /// Exit status; not set when `signal` is.
  int exit_code = 0;
  /// The signal that killed it; 0 when it exited.
  int signal = 0;
  std::string output;
  /// The output exceeded its limit, and the program was killed for it.
  bool output_too_large = false;
  /// The end of standard error, with a mark when the beginning is missing.
  std::string error_text;
};

/// Runs a program in a process group of its own and returns when it has ended and the rest of the
/// group was killed. Blocks the calling thread without polling. Reads and writes at the same time,
/// so that the program may read its input slowly. The kernel kills the program if the calling
/// thread ends first. Errors: `unavailable` when it cannot be started, or when this process ignores
/// SIGCHLD, since the exit status is then unknown.
[[nodiscard]] result<process_end> run_process(const process_request& request);

} // namespace codeq::worker
