// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/timing_wheel.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

namespace {

constexpr duration step_length{10};
/// Below this number of dropped timers no sweep is worthwhile.
constexpr std::size_t sweep_min = 1024;

/// The last step that has ended completely at `t`.
std::int64_t step_before(monotonic_time t) {
  return t.time_since_epoch() / step_length;
}

/// The first step that does not end before `t`.
std::int64_t step_at(monotonic_time t) {
  return (t.time_since_epoch() + step_length - duration{1}) / step_length;
}

} // namespace

timing_wheel::timing_wheel(monotonic_time now) : current_(step_before(now)) {
}

void timing_wheel::add(fencing_token token, monotonic_time deadline) {
  place({token, std::max(step_at(deadline), current_ + 1)});
  ++size_;
}

void timing_wheel::drop(fencing_token token) {
  dropped_.insert(token);
  if (dropped_.size() >= std::max(sweep_min, size_ / 2))
    sweep();
}

void timing_wheel::sweep() {
  for (auto& level : wheel_)
    for (auto& s : level)
      size_ -= std::erase_if(s, [&](const timer& t) { return dropped_.contains(t.token); });
  dropped_.clear();
}

void timing_wheel::place(const timer& t) {
  auto distance = t.step - current_;
  std::size_t level = 0;
  while (level + 1 < levels && distance >= std::int64_t{1} << (slot_bits * (level + 1)))
    ++level;
  // A timer beyond the last level's reach waits in the farthest slot and is placed again from
  // there.
  auto farthest = current_ + (std::int64_t{1} << (slot_bits * levels)) - 1;
  auto step = std::min(t.step, farthest);
  auto index = static_cast<std::size_t>(step >> (slot_bits * level)) & (slots - 1);
  wheel_[level][index].push_back(t);
}

void timing_wheel::step_forward(std::vector<fencing_token>& due) {
  ++current_;
  // When the hand of a coarser level moves, its slot is distributed over the finer levels.
  for (std::size_t level = 1; level < levels; ++level) {
    if ((current_ & ((std::int64_t{1} << (slot_bits * level)) - 1)) != 0)
      break;
    auto index = static_cast<std::size_t>(current_ >> (slot_bits * level)) & (slots - 1);
    for (const auto& t : std::exchange(wheel_[level][index], {})) {
      if (t.step <= current_)
        wheel_[0][static_cast<std::size_t>(current_) & (slots - 1)].push_back(t);
      else
        place(t);
    }
  }
  for (const auto& t :
       std::exchange(wheel_[0][static_cast<std::size_t>(current_) & (slots - 1)], {})) {
    --size_;
    if (dropped_.erase(t.token) == 0)
      due.push_back(t.token);
  }
}

std::vector<fencing_token> timing_wheel::take_due(monotonic_time now) {
  std::vector<fencing_token> due;
  auto last = step_before(now);
  while (current_ < last && size_ > 0)
    step_forward(due);
  current_ = std::max(current_, last);
  return due;
}

std::optional<monotonic_time> timing_wheel::next_look() const {
  if (size_ == 0)
    return std::nullopt;
  for (std::int64_t step = current_ + 1; step <= current_ + static_cast<std::int64_t>(slots);
       ++step) {
    bool spreads = (step & (slots - 1)) == 0;
    if (spreads || !wheel_[0][static_cast<std::size_t>(step) & (slots - 1)].empty())
      return monotonic_time{step * step_length};
  }
  return monotonic_time{(current_ + 1) * step_length};
}

} // namespace codeq::coordinator
