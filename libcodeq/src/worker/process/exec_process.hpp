// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <string>
#include <vector>

namespace codeq::worker {

/// One run of a program.
struct process_request {
  std::string path;
  std::vector<std::string> arguments;
  /// `NAME=value`, all there is.
  std::vector<std::string> environment;
  /// Written to its standard input.
  bytes input;
  /// More standard output ends it.
  std::size_t output_bytes_max = limits::result_bytes_max;
  /// Only the end of standard error is kept.
  std::size_t error_bytes_kept = limits::error_text_bytes_max;
  /// How long it may take to end after SIGTERM.
  duration kill_grace = limits::exec_kill_grace_default;
  /// Ends it early. Never null.
  std::shared_ptr<cancellation> cancel;
};

struct process_end {
  /// What it exited with; meaningless when `signal` is set.
  int exit_code = 0;
  /// The signal that killed it; 0 when it exited.
  int signal = 0;
  std::string output;
  /// The output passed its limit, and the program was killed for it.
  bool output_too_large = false;
  /// The end of standard error, with a mark when something before it is missing.
  std::string error_text;
};

/// Runs a program in a process group of its own and returns when it has ended and nothing of the
/// group is left. Blocks the calling thread, which waits without polling; writes and reads at once,
/// so that a program may read its input as slowly as it likes. The kernel kills the program when
/// the calling thread ends before it. Errors: `unavailable` when it cannot be started, or when this
/// process ignores SIGCHLD, so that nobody learns how it ended.
[[nodiscard]] result<process_end> run_process(const process_request& request);

} // namespace codeq::worker
