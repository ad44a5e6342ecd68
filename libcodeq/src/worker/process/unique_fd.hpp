// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <unistd.h>

namespace codeq::worker {

/// Owns a file descriptor.
class unique_fd {
public:
  explicit unique_fd(int fd = -1) noexcept : fd_(fd) {}

  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  ~unique_fd() { reset(); }

  void reset() noexcept {
    if (fd_ >= 0)
      close(std::exchange(fd_, -1));
  }

  /// Negative when there is none.
  [[nodiscard]] int number() const noexcept { return fd_; }

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

private:
  int fd_;
};

} // namespace codeq::worker
