// SPDX-License-Identifier: Apache-2.0
#include "observe/line_pace.hpp"

#include <utility>

namespace codeq::observe {

namespace {

constexpr std::size_t owners_max = 1024;

} // namespace

std::optional<std::uint64_t> line_pace::take(std::string_view owner, time_point now) {
  std::lock_guard guard(mutex_);
  auto at = owners_.find(owner);
  if (at == owners_.end()) {
    if (owners_.size() >= owners_max)
      owners_.clear();
    at = owners_.emplace(owner, second{now}).first;
  }
  auto& current = at->second;
  if (now - current.begin >= std::chrono::seconds{1}) {
    current.begin = now;
    current.lines = 0;
  }
  if (current.lines == lines_per_second_) {
    ++current.left_out;
    return std::nullopt;
  }
  ++current.lines;
  return std::exchange(current.left_out, 0);
}

} // namespace codeq::observe
