// SPDX-License-Identifier: Apache-2.0
#include "replication/lag_marks.hpp"

#include <algorithm>

namespace codeq::replication {

namespace {

using namespace std::chrono_literals;

constexpr duration resolution = 10ms;

/// The age of a mark, divided by the longest time that its deltas may span.
constexpr int age_per_span = 8;

} // namespace

void lag_marks::note(position at, monotonic_time now) {
  if (!marks_.empty() && now < marks_.back().first_begun + resolution) {
    marks_.back().last = at;
    return;
  }
  if (marks_.size() == marks_max)
    thin(now);
  marks_.push_back({now, at});
}

duration lag_marks::lag(position written, monotonic_time now) const {
  const auto first = std::partition_point(
    marks_.begin(), marks_.end(), [&](const mark& m) { return m.last <= written; });
  return first == marks_.end() ? duration{0} : now - first->first_begun;
}

void lag_marks::thin(monotonic_time now) {
  std::vector<mark> kept{marks_.front()};
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    auto& latest = kept.back();
    const auto span = marks_[i].first_begun + resolution - latest.first_begun;
    if (span * age_per_span <= now - latest.first_begun)
      latest.last = marks_[i].last;
    else
      kept.push_back(marks_[i]);
  }
  // After days of lag there is room only for less exact marks.
  if (kept.size() == marks_max) {
    kept[1].first_begun = kept[0].first_begun;
    kept.erase(kept.begin());
  }
  marks_.swap(kept);
}

} // namespace codeq::replication
