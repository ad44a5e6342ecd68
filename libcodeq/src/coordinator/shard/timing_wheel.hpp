// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace codeq::coordinator {

/// A hierarchical timing wheel (Varghese and Lauck 1987) of four levels with 64 slots each. Its
/// finest step is 10 ms, so a timer fires at its deadline or up to 10 ms later, never before.
/// Adding and dropping take amortized constant time: dropped timers are swept out once they are as
/// many as the others, so the wheel contains at most twice the number of waiting timers.
class timing_wheel {
public:
  explicit timing_wheel(monotonic_time now);

  void add(fencing_token token, monotonic_time deadline);

  /// The timer will not fire, or has fired. Its token must not be added again.
  void drop(fencing_token token);

  /// Removes all timers whose deadline is at or before `now`.
  [[nodiscard]] std::vector<fencing_token> take_due(monotonic_time now);

  /// When to call `take_due` again; empty when no timer waits. May be early, never late.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

  /// Number of timers in the wheel, including dropped ones that were not swept out yet.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
  static constexpr std::size_t levels = 4;
  static constexpr std::size_t slot_bits = 6;
  static constexpr std::size_t slots = 1u << slot_bits;

  struct timer {
    fencing_token token;
    std::int64_t step;
  };

  using slot = std::vector<timer>;

  void place(const timer& t);
  void sweep();
  void step_forward(std::vector<fencing_token>& due);

  /// All steps up to this one have fired.
  std::int64_t current_;
  /// Number of timers in the wheel, including dropped ones.
  std::size_t size_ = 0;
  std::unordered_set<fencing_token> dropped_;
  std::array<std::array<slot, slots>, levels> wheel_;
};

} // namespace codeq::coordinator
