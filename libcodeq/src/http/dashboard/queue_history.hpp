// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "base/coordinator_counts.hpp"
#include "base/fair_share.hpp"
#include "base/json_writer.hpp"
#include "http/server/gateway_limits.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace codeq::http {

/// Estimates a percentile of a histogram, in milliseconds, linear within a bucket; empty when
/// nothing was counted. The last bucket counts as its lower bound.
[[nodiscard]] std::optional<std::uint32_t>
percentile_ms(const base::time_counts& times, unsigned percent);

enum class history_span : std::uint8_t {
  /// Points of 10 s.
  hour,
  /// Points of 5 min.
  day,
};

/// The recent past of tenants and of their queues, in memory: what was counted in each step of the
/// last hour and day. Bounded by `limits::history_series_max`, which tenants share fairly; a tenant
/// without queues, and a queue that was removed, give their place back. It begins with the process.
/// Pure; used from one thread.
class queue_history {
public:
  explicit queue_history(std::size_t series_max = limits::history_series_max)
    : places_(series_max) {}

  /// Adds what was counted since the call before. Called every `limits::history_step`.
  void take(const base::coordinator_counts& stats, timestamp now);

  /// Writes the points of a queue, or of the whole tenant when the address has no queue, as members
  /// of an object, the oldest point first.
  void write(base::json_writer& json, const queue_address& of, history_span span) const;

private:
  static constexpr std::size_t counters = 9;
  static constexpr std::size_t percentiles = 6;
  static constexpr std::size_t levels = 6;

  /// The counts since the process or the store began.
  struct totals {
    std::array<std::uint64_t, counters> counted{};
    base::time_counts dispatch{};
    base::time_counts run{};
  };

  struct point {
    timestamp at{};
    std::array<std::uint32_t, counters> counted{};
    /// Percentiles of the dispatch and then of the run time; `no_time` when nothing was counted.
    std::array<std::uint32_t, percentiles> times{};
    /// Tasks by state, and the age of the oldest ready one.
    std::array<std::uint32_t, levels> level{};
  };

  struct ring {
    std::deque<point> points{};
    totals before{};
    /// When `before` was counted.
    timestamp since{};
  };

  struct series {
    std::array<ring, 2> rings{};
    base::queue_counts latest{};
    totals sum{};
    std::uint64_t round = 0;
  };

  [[nodiscard]] static totals totals_of(const base::queue_counts& q);
  [[nodiscard]] static point
  difference(const totals& before, const totals& after, const base::queue_counts& latest);

  /// Adds what a queue counted since the call before to the sum of its tenant.
  void grow(const base::queue_counts& q);
  void add(const base::queue_counts& latest, const totals& sum, timestamp now);
  static void advance(series& to, timestamp now, bool is_new);
  void drop_gone();

  base::fair_share places_;
  std::map<queue_address, series> series_;
  /// Sums over the queues of tenants. They never go back, also when a queue is removed.
  std::map<std::string, totals> tenants_;

  struct counted_queue {
    totals sum{};
    std::uint64_t round = 0;
  };

  /// All queues at the latest call.
  std::map<queue_address, counted_queue> queues_;
  /// Counts the calls of `take`.
  std::uint64_t round_ = 0;
};

} // namespace codeq::http
