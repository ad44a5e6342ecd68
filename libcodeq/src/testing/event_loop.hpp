// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "base/clock.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace codeq::testing {

/// A queue of actions and a clock that stands still until it is advanced. Used from one thread.
class event_loop {
public:
  using action = std::function<void()>;

  [[nodiscard]] const instant& now() const noexcept { return now_; }

  /// `run` calls `what` after all actions that were posted before.
  void post(action what) { posted_.push_back(std::move(what)); }

  /// Posts `what` when the clock has advanced by `wait`.
  void post_after(duration wait, action what) {
    timers_.emplace(now_.steady + wait, std::move(what));
  }

  /// Calls actions until none is posted. Does nothing when an action calls it.
  void run();

  /// The time until the next timer; empty when there is none.
  [[nodiscard]] std::optional<duration> next_event() const;

  /// Advances the clock and posts the actions whose time has come.
  void advance(duration by);

private:
  instant now_ = base::manual_clock().now();
  std::deque<action> posted_;
  std::multimap<monotonic_time, action> timers_;
  bool is_running_ = false;
};

} // namespace codeq::testing
