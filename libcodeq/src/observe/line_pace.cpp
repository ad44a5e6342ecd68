// SPDX-License-Identifier: Apache-2.0
#include "observe/line_pace.hpp"

#include <utility>

namespace codeq::observe {

namespace {

constexpr std::size_t owners_max = 1024;

} // namespace

std::optional<std::uint64_t> line_pace::take(std::string_view owner, time_point now) {
  std::lock_guard guard(mutex_);
  auto& current = count_of(owner, now);
  if (now - current.begin >= interval_) {
    current.begin = now;
    current.lines = 0;
  }
  if (current.lines == lines_) {
    ++current.left_out;
    return std::nullopt;
  }
  ++current.lines;
  return std::exchange(current.left_out, 0);
}

line_pace::count& line_pace::count_of(std::string_view owner, time_point now) {
  if (auto at = owners_.find(owner); at != owners_.end())
    return at->second;
  if (owners_.size() >= owners_max && now - swept_ >= interval_) {
    swept_ = now;
    std::erase_if(owners_, [&](const auto& known) {
      return now - known.second.begin >= interval_;
    });
  }
  return owners_.size() < owners_max ? owners_.emplace(owner, count{now}).first->second : others_;
}

} // namespace codeq::observe
