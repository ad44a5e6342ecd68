// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace codeq::sim {

/// Time since the run began. Finer than what the code under test sees, so that everything that
/// happens has its own moment.
using virtual_time = std::chrono::microseconds;

/// What will happen, in order of time; what is due at the same moment happens in the order in which
/// it was asked for. One thread.
class timeline {
public:
  using action = std::function<void()>;

  [[nodiscard]] virtual_time now() const noexcept { return now_; }

  void after(virtual_time wait, action what);

  /// Lets the next thing happen; false when nothing is left.
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
  /// A heap whose first entry is the next one.
  std::vector<entry> entries_;
};

} // namespace codeq::sim
