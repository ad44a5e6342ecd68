// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include <string>
#include <vector>

namespace codeq::worker {

/// How a child process that runs the handler of one queue is started.
struct child_command {
  /// `codeq-worker`.
  std::string program;
  std::string queue;
  std::vector<std::string> libraries;
};

/// A handler that hands each attempt to a child process, which runs the function of that queue. A
/// child serves one attempt at a time and is kept for the next; one that dies fails its attempt
/// with the signal or exit status and the end of what it printed meanwhile; one that died while it
/// had nothing to do is replaced. A cancellation is passed on; a child that does not answer within
/// `kill_grace` is killed.
[[nodiscard]] handler_function
make_child_handler(child_command command, duration kill_grace = limits::exec_kill_grace_default);

/// The child's side: runs `function` for what comes from descriptor `input` and answers on
/// `output`, until the parent closes it; then the process ends. The function runs on a thread of
/// its own; what it prints goes to standard error.
[[noreturn]] void serve_parent(const handler_function& function, int input, int output);

} // namespace codeq::worker
