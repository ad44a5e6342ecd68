// SPDX-License-Identifier: Apache-2.0
#include "core/flow/start_meter.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

constexpr duration window{30'000};
/// One start within a second is no sign of 60 in a minute.
constexpr duration elapsed_min{10'000};

} // namespace

void start_meter::move_on(monotonic_time now) {
  if (now < begin_ + window)
    return;
  has_before_ = tasks_ > 0 && now < begin_ + 2 * window;
  before_ = has_before_ ? tasks_ : 0;
  begin_ = has_before_ ? begin_ + window : now;
  tasks_ = 0;
}

void start_meter::add(std::uint64_t tasks, monotonic_time now) {
  move_on(now);
  if (tasks_ == 0 && !has_before_)
    begin_ = now;
  tasks_ += tasks;
}

std::uint64_t start_meter::per_minute(monotonic_time now) const {
  auto latest = *this;
  latest.move_on(now);
  auto since = latest.has_before_ ? latest.begin_ - window : latest.begin_;
  auto elapsed = std::max(elapsed_min, now - since);
  constexpr std::uint64_t minute_ms = 60'000;
  return (latest.tasks_ + latest.before_) * minute_ms
         / static_cast<std::uint64_t>(elapsed.count());
}

} // namespace codeq::core
