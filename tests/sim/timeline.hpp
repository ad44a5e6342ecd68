// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace codeq::sim {

/// Time since the run began. Finer than the code under test can see, so that events rarely
/// coincide.
using virtual_time = std::chrono::microseconds;

/// Planned events in order of time; events for the same moment run in the order in which they were
/// planned. Single-threaded.
class timeline {
public:
  using action = std::function<void()>;

  [[nodiscard]] virtual_time now() const noexcept { return now_; }

  void after(virtual_time wait, action what);

  /// Runs the next event; false when none is left.
  bool step();

private:
  struct entry {
    virtual_time when;
    std::uint64_t number;
    action what;

    friend bool operator>(const entry& a, const entry& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  virtual_time now_{0};
  std::uint64_t next_number_ = 0;
  /// A min-heap by time and number.
  std::vector<entry> entries_;
};

} // namespace codeq::sim
