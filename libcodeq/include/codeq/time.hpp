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

/// A time of the wall clock, for `task_spec::not_before` and wherever else codeq takes a time; cut
/// to whole milliseconds.
[[nodiscard]] constexpr timestamp
to_timestamp(std::chrono::system_clock::time_point when) noexcept {
  return timestamp{std::chrono::floor<duration>(when.time_since_epoch())};
}

/// The way back. @pre `when` is within the range of `std::chrono::system_clock`
[[nodiscard]] constexpr std::chrono::system_clock::time_point
to_wall_time(timestamp when) noexcept {
  return std::chrono::system_clock::time_point{when.time_since_epoch()};
}

/// UTC, for people: `2026-01-31 12:00:00.250 UTC`.
[[nodiscard]] std::string to_string(timestamp when);

using monotonic_time = std::chrono::time_point<monotonic_base, duration>;

/// The two clocks of a shard, read together.
struct instant {
  monotonic_time steady;
  timestamp shard;
};

} // namespace codeq
