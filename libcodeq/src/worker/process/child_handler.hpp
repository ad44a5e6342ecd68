// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include <string>
#include <vector>

namespace codeq::worker {

/// How to start a child process that runs the handler of one queue.
struct child_command {
  /// Path of `codeq-worker`.
  std::string program;
  std::string queue;
  std::vector<std::string> libraries;
};

/// A handler that passes each attempt to a child process, which runs the function of that queue. A
/// child is kept for the next attempt on the same thread, and dies with that thread. A child that
/// dies fails its attempt with the signal or exit status and the end of its output; one that died
/// while idle is replaced. A cancellation is passed on; a child that does not answer within
/// `kill_grace` is killed.
[[nodiscard]] handler_function
make_child_handler(child_command command, duration kill_grace = limits::exec_kill_grace_default);

/// The child's side: runs `function` for attempts from descriptor `input` and writes answers to
/// `output`, until the parent closes `input`; then the process ends. The function runs on a thread
/// of its own; its output goes to standard error.
[[noreturn]] void serve_parent(const handler_function& function, int input, int output);

} // namespace codeq::worker
