// SPDX-License-Identifier: Apache-2.0
#include "testing/event_loop.hpp"

#include <algorithm>

namespace codeq::testing {

void event_loop::run() {
  if (std::exchange(is_running_, true))
    return;
  while (!posted_.empty()) {
    auto next = std::move(posted_.front());
    posted_.pop_front();
    next();
  }
  is_running_ = false;
}

std::optional<duration> event_loop::next_event() const {
  if (timers_.empty())
    return std::nullopt;
  return std::max(timers_.begin()->first - now_.steady, duration{0});
}

void event_loop::advance(duration by) {
  now_.steady += by;
  now_.shard += by;
  auto end = timers_.upper_bound(now_.steady);
  for (auto at = timers_.begin(); at != end; ++at)
    post(std::move(at->second));
  timers_.erase(timers_.begin(), end);
}

} // namespace codeq::testing
