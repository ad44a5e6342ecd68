// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>

namespace codeq::replication::sim {

using span = std::chrono::microseconds;

/// Virtual time and what happens in it, in order.
class timeline {
public:
  [[nodiscard]] span now() const { return now_; }

  /// Runs something after a delay; of two at the same time the earlier call is first.
  void after(span delay, std::function<void()> run) {
    events_.emplace(now_ + delay, std::move(run));
  }

  void run_until(span end) {
    while (!events_.empty() && events_.begin()->first <= end) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      event.mapped()();
    }
    now_ = end;
  }

private:
  span now_{};
  std::multimap<span, std::function<void()>> events_;
};

} // namespace codeq::replication::sim
