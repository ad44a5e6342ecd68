// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/producer.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace codeq::bench {

using steady = std::chrono::steady_clock;

/// Tasks that arrive one by one at even intervals, regardless of the earlier ones.
struct arrival_options {
  /// Queue whose handler returns the time when it began; see `stamp` in the bench's handlers.
  std::string queue = "stamp";
  /// Tasks per second.
  std::uint64_t rate = 200;
  duration length = std::chrono::seconds(10);
  /// Payload size of each task, in bytes.
  std::size_t payload = 256;
  /// Reads the result of each task, which says when its handler began. Otherwise a run ends when
  /// all tasks are accepted, and `begun` is not set.
  bool reads_results = true;
};

/// Times of one task, on the monotonic clock that all processes of a machine share.
struct arrival {
  /// When the enqueue was due, and when it was called.
  steady::time_point due;
  steady::time_point called;
  /// When the enqueue was acknowledged.
  steady::time_point accepted;
  /// When its handler began.
  steady::time_point begun;
};

/// Runs until all tasks have ended, if it reads their results. Errors: of a request, or that there
/// was no more progress.
[[nodiscard]] result<std::vector<arrival>>
run_arrivals(producer& to, const arrival_options& options);

/// The time between two of the times of each arrival.
[[nodiscard]] std::vector<std::chrono::nanoseconds> times_between(
  const std::vector<arrival>& arrivals,
  steady::time_point arrival::*from,
  steady::time_point arrival::*to);

} // namespace codeq::bench
