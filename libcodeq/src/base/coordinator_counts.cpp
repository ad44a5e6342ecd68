// SPDX-License-Identifier: Apache-2.0
#include "base/coordinator_counts.hpp"

#include <algorithm>
#include <numeric>

namespace codeq::base {

void time_counts::add(duration took, std::uint64_t times) {
  auto at = std::lower_bound(bounds_ms.begin(), bounds_ms.end(), took.count());
  counts[static_cast<std::size_t>(at - bounds_ms.begin())] += times;
  sum_ms += took.count() * static_cast<std::int64_t>(times);
}

void time_counts::add(const time_counts& other) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] += other.counts[i];
  sum_ms += other.sum_ms;
}

std::optional<duration> time_counts::mean() const {
  const auto times = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (times == 0)
    return std::nullopt;
  return duration{sum_ms / static_cast<std::int64_t>(times)};
}

} // namespace codeq::base
