// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "worker/process/exec_command.hpp"

namespace codeq::worker {

/// A handler that runs the command once per attempt, with the payload on standard input; standard
/// output is the result. Exit status 0 is `completed`, 75 (EX_TEMPFAIL) is `nack` with the retry
/// policy's delay, any other status or a signal is `failed` with the end of standard error. Lines
/// of standard error go to the log, too, with the task's id. The environment has `CODEQ_TASK_ID`,
/// `CODEQ_QUEUE`, `CODEQ_ATTEMPT`, `CODEQ_MAX_ATTEMPTS` and `CODEQ_TOKEN` of the attempt, but not
/// the worker's own settings. A cancellation sends SIGTERM to the program's process group, and
/// SIGKILL after `kill_grace`.
[[nodiscard]] handler_function
make_exec_handler(exec_command command, duration kill_grace = limits::exec_kill_grace_default);

} // namespace codeq::worker
