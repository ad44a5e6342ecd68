// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/producer.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace codeq::bench {

using steady = std::chrono::steady_clock;

/// Tasks that come one by one at even intervals, whatever becomes of those before.
struct arrival_options {
  /// Its handler answers with the time when it began; see `stamp` among the bench's handlers.
  std::string queue = "stamp";
  /// Per second.
  std::uint64_t rate = 200;
  duration length = std::chrono::seconds(10);
  /// Bytes of each payload.
  std::size_t payload = 256;
};

/// What became of one task; on the steady clock, which all processes of a machine share.
struct arrival {
  /// When it was to be enqueued, and when the enqueue was called.
  steady::time_point due;
  steady::time_point called;
  /// When the enqueue was acknowledged.
  steady::time_point accepted;
  /// When its handler began.
  steady::time_point begun;
};

/// Returns when all have ended. Errors: what failed, or that nothing happened any more.
[[nodiscard]] result<std::vector<arrival>>
run_arrivals(producer& to, const arrival_options& options);

/// How long it took from `from` to `to` in each.
[[nodiscard]] std::vector<std::chrono::nanoseconds> times_between(
  const std::vector<arrival>& arrivals,
  steady::time_point arrival::*from,
  steady::time_point arrival::*to);

} // namespace codeq::bench
