// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::test {

/// A log of what a client observed: one line per event, "NANOSECONDS EVENT KEY=VALUE ...", on the
/// monotonic clock that all processes of a machine share. Each line is one write, so a line is
/// complete or missing, however the process ends. Thread-safe.
class event_log {
public:
  explicit event_log(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {}

  event_log(const event_log&) = delete;
  event_log& operator=(const event_log&) = delete;

  ~event_log() { ::close(file_); }

  /// Writes the line with the time of this call.
  void write(const std::string& event) {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
    auto line = std::to_string(nanoseconds) + ' ' + event + '\n';
    std::lock_guard lock{mutex_};
    [[maybe_unused]] auto written = ::write(file_, line.data(), line.size());
  }

private:
  std::mutex mutex_;
  int file_;
};

} // namespace codeq::test
