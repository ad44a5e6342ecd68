// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <ctime>

#include <pthread.h>

namespace codeq::worker {

/// Blocks SIGPIPE in the calling thread during its lifetime: a write to a process that has closed
/// its input would otherwise end this process.
class without_sigpipe {
public:
  without_sigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }

  ~without_sigpipe() {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;

private:
  sigset_t pipe_{};
  sigset_t before_{};
};

} // namespace codeq::worker
