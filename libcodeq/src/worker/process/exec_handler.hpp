// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "worker/process/exec_command.hpp"

namespace codeq::worker {

/// A handler that runs the command once per attempt: payload on standard input, standard output is
/// the result. Exit code 0 is `completed`, 75 (EX_TEMPFAIL) `nack` by the retry policy, every
/// other, and a signal, `failed` with the end of standard error. `CODEQ_TASK_ID`, `CODEQ_QUEUE`,
/// `CODEQ_ATTEMPT`, `CODEQ_MAX_ATTEMPTS` and `CODEQ_TOKEN` tell it what it works on; the worker's
/// own settings in its environment are not handed on. A cancellation is SIGTERM to the program's
/// process group, and SIGKILL after `kill_grace`.
[[nodiscard]] handler_function
make_exec_handler(exec_command command, duration kill_grace = limits::exec_kill_grace_default);

} // namespace codeq::worker
