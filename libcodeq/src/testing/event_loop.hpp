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

/// A queue of actions and a clock that moves only when advanced. Used from one thread.
class event_loop {
public:
  using action = std::function<void()>;

  /// `start`: shard time at the beginning.
  explicit event_loop(timestamp start) { now_.shard = start; }

  [[nodiscard]] const instant& now() const noexcept { return now_; }

  /// Queues `what`; `run` calls it after all actions that were posted before.
  void post(action what) { posted_.push_back(std::move(what)); }

  /// Posts `what` once the clock has advanced by `wait`.
  void post_after(duration wait, action what) {
    timers_.emplace(now_.steady + wait, std::move(what));
  }

  /// Calls actions until none is left. Does nothing when called by an action.
  void run();

  /// The time until the next timer; empty when there is none.
  [[nodiscard]] std::optional<duration> next_event() const;

  /// Advances the clock and posts the actions that become due.
  void advance(duration by);

private:
  instant now_ = base::manual_clock().now();
  std::deque<action> posted_;
  std::multimap<monotonic_time, action> timers_;
  bool is_running_ = false;
};

} // namespace codeq::testing
