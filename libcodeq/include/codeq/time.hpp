// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace codeq {

/// Every duration in codeq is in whole milliseconds.
using duration = std::chrono::milliseconds;

/// Shard time: milliseconds since 1970 that start at max(persisted, wall clock), never go back and
/// slew at most 5 % toward the wall clock. Due times and retention are in shard time.
struct shard_time_base {};

/// Monotonic time base of leases; its zero has no meaning.
struct monotonic_base {};

using timestamp = std::chrono::time_point<shard_time_base, duration>;
/// UTC, for people: `2026-01-31 12:00:00.250 UTC`.
[[nodiscard]] std::string to_string(timestamp when);

using monotonic_time = std::chrono::time_point<monotonic_base, duration>;

/// The two clocks of a shard, read together.
struct instant {
  monotonic_time steady;
  timestamp shard;
};

} // namespace codeq
