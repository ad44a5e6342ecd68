// SPDX-License-Identifier: Apache-2.0
#include "security/rate_limiter.hpp"

#include <algorithm>

namespace codeq::security {

namespace {

/// Parts of one unit: times are in milliseconds and rates per second, so nothing is rounded.
constexpr std::int64_t parts = 1000;

/// A larger cost is reduced to this.
constexpr std::uint64_t cost_max = 1'000'000'000;

std::int64_t level_max(const rate& limit) {
  return std::int64_t{limit.burst} * parts;
}

} // namespace

std::int64_t rate_limiter::level_at(const bucket& b, monotonic_time now) {
  // After this time every bucket is full; the bound keeps the product from overflowing.
  constexpr duration longest = std::chrono::hours(24);
  auto passed = std::clamp(now - b.filled_at, duration{0}, longest).count();
  return std::min(b.level + passed * b.limit.per_second, level_max(b.limit));
}

duration
rate_limiter::take(const principal& who, rate_scope scope, std::uint64_t cost, monotonic_time now) {
  const auto& limit = who.rate_of(scope);
  if (limit.per_second == 0 || cost == 0)
    return duration{0};
  std::lock_guard lock(mutex_);
  auto& b = buckets_[who.token][static_cast<std::size_t>(scope)];
  if (b.limit != limit)
    b = {limit, level_max(limit), now};
  b.level = level_at(b, now);
  b.filled_at = std::max(b.filled_at, now);
  auto wanted = static_cast<std::int64_t>(std::min(cost, cost_max)) * parts;
  auto missing = std::min(wanted, level_max(limit)) - b.level;
  if (missing > 0)
    return duration{(missing + limit.per_second - 1) / limit.per_second};
  b.level -= wanted;
  return duration{0};
}

void rate_limiter::forget_idle(monotonic_time now) {
  std::lock_guard lock(mutex_);
  std::erase_if(buckets_, [&](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(), [&](const bucket& b) {
      return level_at(b, now) >= level_max(b.limit);
    });
  });
}

} // namespace codeq::security
