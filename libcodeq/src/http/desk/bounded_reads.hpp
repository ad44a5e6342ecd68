// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/turn_queue.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace codeq::http {

/// Reads of which a bounded number is open at once. The others wait, and their owners take turns.
/// Owned by the desk.
class bounded_reads {
public:
  explicit bounded_reads(std::size_t open_max) : open_max_(open_max) {}

  /// Calls `start` now or later; each started read must be followed by one call of `ended`, which
  /// `start` may make itself.
  void add(const std::string& owner, std::function<void()> start) {
    waiting_.add(owner, std::move(start));
    start_next();
  }

  void ended() {
    --open_;
    start_next();
  }

  /// Number of reads of the owner that wait.
  [[nodiscard]] std::size_t waiting(const std::string& owner) const {
    return waiting_.size_of(owner);
  }

private:
  void start_next() {
    // A read that is refused at once calls this function again from within the loop.
    if (std::exchange(is_starting_, true))
      return;
    while (!waiting_.empty() && open_ < open_max_) {
      auto start = waiting_.take();
      ++open_;
      (*start)();
    }
    is_starting_ = false;
  }

  std::size_t open_max_;
  std::size_t open_ = 0;
  bool is_starting_ = false;
  base::turn_queue<std::function<void()>> waiting_;
};

} // namespace codeq::http
