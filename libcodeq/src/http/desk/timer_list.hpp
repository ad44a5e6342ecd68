// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace codeq::http {

/// A list of actions to run at certain times. Pure; used from one thread.
class timer_list {
public:
  using id = std::uint64_t;

  /// Runs `action` once at `when`, after all actions that are due earlier.
  id add(monotonic_time when, std::function<void()> action) {
    actions_.emplace(std::pair(when, ++last_), std::move(action));
    times_.emplace(last_, when);
    return last_;
  }

  /// Removes an action; does nothing when the action already ran.
  void remove(id timer) {
    auto at = times_.find(timer);
    if (at == times_.end())
      return;
    actions_.erase({at->second, timer});
    times_.erase(at);
  }

  /// Runs the actions that are due. Actions may add and remove others.
  void run_due(monotonic_time now) {
    while (!actions_.empty() && actions_.begin()->first.first <= now) {
      auto due = actions_.extract(actions_.begin());
      times_.erase(due.key().second);
      due.mapped()();
    }
  }

  [[nodiscard]] std::optional<monotonic_time> next() const {
    if (actions_.empty())
      return std::nullopt;
    return actions_.begin()->first.first;
  }

private:
  std::map<std::pair<monotonic_time, id>, std::function<void()>> actions_;
  std::map<id, monotonic_time> times_;
  id last_ = 0;
};

} // namespace codeq::http
