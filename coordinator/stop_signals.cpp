// SPDX-License-Identifier: Apache-2.0
#include "stop_signals.hpp"

#include "observe/log.hpp"

#include <pthread.h>
#include <unistd.h>

namespace codeq {

namespace {

/// Wakes the thread of `start_watch`; sent to that thread only.
constexpr int watch_is_over = SIGUSR1;

[[noreturn]] void end_before_start(int signal) {
  CODEQ_LOG_INFO("coordinator stops before it has started signal={}", signal);
  observe::flush_log();
  ::_exit(0);
}

} // namespace

sigset_t hold_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, watch_is_over})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int next_signal(const sigset_t& signals) {
  int signal = watch_is_over;
  while (signal == watch_is_over)
    sigwait(&signals, &signal);
  return signal;
}

void ignore_file_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

start_watch::start_watch(const sigset_t& signals)
  : signals_(signals), thread_([this] { watch(); }) {
}

start_watch::~start_watch() {
  pthread_kill(thread_.native_handle(), watch_is_over);
  thread_.join();
  if (was_hung_up_)
    ::kill(::getpid(), SIGHUP);
}

void start_watch::watch() {
  for (;;) {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (signal == watch_is_over)
      return;
    if (signal != SIGHUP)
      end_before_start(signal);
    was_hung_up_ = true;
  }
}

} // namespace codeq
