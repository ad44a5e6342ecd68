// SPDX-License-Identifier: Apache-2.0
#include "core/flow/failure_window.hpp"

#include <algorithm>

namespace codeq::core {

attempt_counts& failure_window::part_of(std::int64_t tenth) {
  // The remainder of a negative number is negative.
  return parts_[static_cast<std::size_t>((tenth % tenths + tenths) % tenths)];
}

void failure_window::add(monotonic_time now, bool failed) {
  auto tenth = now.time_since_epoch() / tenth_;
  for (auto left = std::max(latest_ + 1, tenth - tenths + 1); left <= tenth; ++left) {
    auto& part = part_of(left);
    sum_.ended -= part.ended;
    sum_.failed -= part.failed;
    part = {};
  }
  latest_ = tenth;
  for (auto* counts : {&part_of(tenth), &sum_}) {
    counts->ended += 1;
    counts->failed += failed ? 1 : 0;
  }
}

} // namespace codeq::core
