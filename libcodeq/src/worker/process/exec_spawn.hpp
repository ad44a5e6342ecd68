// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "worker/process/exec_process.hpp"
#include "worker/process/unique_fd.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace codeq::worker {

/// A running program, and our non-blocking ends of its pipes.
struct child_process {
  pid_t pid = -1;
  unique_fd input;
  unique_fd output;
  unique_fd errors;
  /// Readable once it has ended; not open when the kernel does not support pidfds.
  unique_fd ended;
};

/// Forks and executes. The child leads a process group of its own, has no descriptors but its three
/// pipes, has default signal handling, and dies with the calling thread. Errors: `unavailable`.
[[nodiscard]] result<child_process> spawn_child(process_request request);

/// Prefix of the worker's own environment variables.
inline constexpr std::string_view own_prefix = "CODEQ_";

/// The environment of this process without the worker's own settings.
[[nodiscard]] std::vector<std::string> inherited_environment();

/// True once the process has ended; does not reap it.
[[nodiscard]] bool has_ended(pid_t pid);

/// Polling interval where the kernel cannot report the end of a process.
inline constexpr int end_poll_ms = 20;

} // namespace codeq::worker
