// SPDX-License-Identifier: Apache-2.0
#include "core/turn/retry.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a cheap, well mixed hash.
std::uint64_t mix_jitter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// The place that the jitter is computed from. Neighbours share it at their first retry, so that
/// they stay together.
std::uint64_t jitter_place(std::uint32_t attempt, sequence seq) {
  constexpr unsigned neighbour_bits = 4;
  return attempt == 1 ? seq >> neighbour_bits : seq;
}

/// base * 2^(attempt - 1), at most `cap`, without overflow.
duration doubled(duration base, std::uint32_t attempt, duration cap) {
  auto delay = base;
  for (std::uint32_t i = 1; i < attempt && delay < cap; ++i)
    delay *= 2;
  return std::min(delay, cap);
}

} // namespace

duration
retry_delay(const retry_policy& policy, std::uint32_t attempt, const task_id& task) noexcept {
  switch (policy.kind) {
  case retry_kind::fixed:
    return std::min(policy.base, policy.cap);
  case retry_kind::linear:
    return std::min(policy.base * attempt, policy.cap);
  case retry_kind::exponential:
    return doubled(policy.base, attempt, policy.cap);
  case retry_kind::exponential_jitter: {
    auto longest = static_cast<std::uint64_t>(doubled(policy.base, attempt, policy.cap).count());
    auto random =
      mix_jitter(jitter_place(attempt, task.seq) + (std::uint64_t{value(task.shard)} << 48)
          + attempt * 0x9E3779B97F4A7C15ull);
    return duration{static_cast<duration::rep>(random % (longest + 1))};
  }
  }
  return policy.base;
}

} // namespace codeq::core
