// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <thread>

namespace codeq {

/// Blocks the signals that end the process, and SIGHUP, and returns them. Call before any thread is
/// started, since threads inherit the mask.
[[nodiscard]] sigset_t hold_stop_signals();

/// Waits for one of the signals.
[[nodiscard]] int next_signal(const sigset_t& signals);

/// Makes a write to a closed pipe, or beyond the file size limit, fail with an error instead of a
/// signal: the journal reports such an error before it stops the process.
void ignore_file_signals();

/// Ends the process with status 0 at a stop signal, for as long as this lives. A start may wait for
/// etcd, or recover a large store; the store keeps what is on the disk, as after a kill. A SIGHUP
/// is sent again at the end, for `next_signal`. One of them may live at a time.
class start_watch {
public:
  /// @pre the signals are those of `hold_stop_signals`
  explicit start_watch(const sigset_t& signals);

  start_watch(const start_watch&) = delete;
  start_watch& operator=(const start_watch&) = delete;

  ~start_watch();

private:
  void watch();

  sigset_t signals_;
  /// Read after the thread has ended.
  bool was_hung_up_ = false;
  std::thread thread_;
};

} // namespace codeq
