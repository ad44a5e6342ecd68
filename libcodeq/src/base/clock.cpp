// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include "base/wall_clock.hpp"

#include <algorithm>

#include <time.h>

namespace codeq::base {

namespace {

/// The reciprocal of the largest slew, 5 %.
constexpr std::int64_t slew_parts = 20;

duration read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return duration{t.tv_sec * 1000 + t.tv_nsec / 1'000'000};
}

monotonic_time steady_now() {
  return monotonic_time{read_clock(CLOCK_BOOTTIME)};
}

} // namespace

timestamp wall_now() {
  return timestamp{read_clock(CLOCK_REALTIME)};
}

shard_time::shard_time(timestamp persisted, monotonic_time steady, timestamp wall)
  : last_steady_(steady), last_(std::max(persisted, wall)) {
}

timestamp shard_time::at(monotonic_time steady, timestamp wall) {
  auto passed = std::max(duration{0}, steady - last_steady_);
  last_steady_ = std::max(last_steady_, steady);
  last_ += passed;
  // Unused credit is not accumulated, except for fractions of a millisecond. Otherwise shard time
  // would follow a step of the wall clock in one jump after a long time in agreement.
  slew_credit_ = std::min(slew_credit_ + passed.count(), std::max(passed.count(), slew_parts));
  duration allowed{slew_credit_ / slew_parts};
  if (wall > last_) {
    auto step = std::min(wall - last_, allowed);
    last_ += step;
    slew_credit_ -= step.count() * slew_parts;
  } else if (wall < last_) {
    // Slows down but never goes back: reduces by at most the time that has just passed.
    auto step = std::min({last_ - wall, allowed, passed});
    last_ -= step;
    slew_credit_ -= step.count() * slew_parts;
  }
  return last_;
}

system_clock::system_clock(timestamp persisted) : shard_time_(persisted, steady_now(), wall_now()) {
}

instant system_clock::now() {
  auto steady = steady_now();
  return {steady, shard_time_.at(steady, wall_now())};
}

} // namespace codeq::base
