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

/// A program that runs, and our ends of its pipes, none of which blocks.
struct child_process {
  pid_t pid = -1;
  unique_fd input;
  unique_fd output;
  unique_fd errors;
  /// Readable once it has ended; not open when the kernel has no such thing.
  unique_fd ended;
};

/// Forks and executes; the child leads a process group of its own, has no descriptors but its
/// three, default signal handling, and dies with the calling thread. Errors: `unavailable`.
[[nodiscard]] result<child_process> spawn_child(process_request request);

/// What every variable of a worker begins with.
inline constexpr std::string_view own_prefix = "CODEQ_";

/// The environment of this process without the worker's own settings.
[[nodiscard]] std::vector<std::string> inherited_environment();

/// True once the process has ended; it stays for whoever waits for it.
[[nodiscard]] bool has_ended(pid_t pid);

/// How often to ask where the kernel cannot tell the end of a process.
inline constexpr int end_poll_ms = 20;

} // namespace codeq::worker
