// SPDX-License-Identifier: Apache-2.0
#include "etcd/watch_plan.hpp"

#include "etcd/etcd_limits.hpp"

#include <algorithm>

namespace codeq::etcd {

std::optional<watch_plan::connect> watch_plan::next(monotonic_time now) {
  if (is_open_ || now < may_open_)
    return std::nullopt;
  is_open_ = true;
  is_started_ = false;
  opened_ = now;
  return connect{member_, told_ == 0 ? 0 : told_ + 1};
}

bool watch_plan::is_stalled(monotonic_time now) const {
  if (!is_open_)
    return false;
  if (!is_started_)
    return now >= opened_ + limits::watch_start;
  return polled_ > told_ && now >= polled_at_ + limits::watch_stalled;
}

monotonic_time watch_plan::wake_at() const {
  if (!is_open_)
    return may_open_;
  if (!is_started_)
    return opened_ + limits::watch_start;
  return polled_ > told_ ? polled_at_ + limits::watch_stalled : monotonic_time::max();
}

void watch_plan::cut(monotonic_time now) {
  is_open_ = false;
  member_ = (member_ + 1) % members_;
  pause_ = std::clamp(pause_ * 2, limits::watch_pause, limits::watch_pause_max);
  may_open_ = now + pause_;
  polled_ = 0;
}

bool watch_plan::note_line(const watch_line& line) {
  const auto is_first = line.is_created && told_ == 0;
  if (line.is_created) {
    is_started_ = true;
    if (is_first)
      told_ = line.at.revision;
  }
  if (line.compacted > 0) {
    // The next connection begins with what etcd still has.
    told_ = std::max(told_, line.compacted - 1);
    return true;
  }
  for (const auto& change : line.changes)
    told_ = std::max(told_, change.modified);
  if (!line.changes.empty())
    pause_ = duration{0};
  return is_first;
}

void watch_plan::note_poll(std::uint64_t modified, monotonic_time now) {
  if (modified <= std::max(told_, polled_))
    return;
  if (polled_ <= told_)
    polled_at_ = now;
  polled_ = modified;
}

} // namespace codeq::etcd
