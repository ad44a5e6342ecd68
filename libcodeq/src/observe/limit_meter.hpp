// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::observe {

/// The limits that are counted, by the names of their constants or options. `coordinator/LIMITS.md`
/// has a row for each.
inline constexpr std::string_view counted_limits[] = {
  "awaited_tasks_max",
  "awaited_tasks_of_all_max",
  "backfills_waiting_max",
  "closes_waiting_max",
  "cluster_claims_max",
  "connections_max",
  "counts_waiting_max",
  "enqueue_bytes_max",
  "fairness_keys_max",
  "free_bytes",
  "hand_over_bytes_max",
  "http_answers_bytes_max",
  "http_bodies_bytes_max",
  "http_connections_max",
  "http_drain_bytes_max",
  "http_enqueues_open_max",
  "http_unauthenticated_connections_max",
  "limit_keys_max",
  "limits_per_tenant_max",
  "lists_waiting_max",
  "live_streams_max",
  "lookups_waiting_max",
  "max_depth",
  "operations_open_max",
  "operations_open_of_all_max",
  "producer_inflight_bytes_max",
  "producer_requests_max",
  "producer_sessions_per_shard_max",
  "queues_per_tenant_max",
  "retention_bytes",
  "schedules_max",
  "subscriptions_max",
  "token_rate",
  "unauthenticated_connections_max",
  "unread_bytes_max",
  "webhook_flights_max",
  "webhooks_open_max",
};

/// An event of reaching a limit.
struct met_limit {
  /// One of `counted_limits`.
  std::string_view name;
  /// 0: different for each queue, not logged; the refusal has it.
  std::uint64_t max = 0;
  /// Who reached it: the kind, `tenant` or `remote`, and the name.
  std::string_view kind;
  std::string_view who;
  /// The queue that is full, with `max_depth`; `max` is 0 then. A line names only the latest one,
  /// so that many queues cause no more lines.
  std::string_view queue{};
};

/// Counts how often each limit was reached, and logs it: at most one line per second for each pair
/// of limit and name. Thread-safe.
class limit_meter {
public:
  void note(const met_limit& met);

  /// Number of times that each limit was reached since the start, by name; also those that were
  /// not.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

private:
  struct history {
    std::chrono::steady_clock::time_point next_line{};
    std::uint64_t unlogged = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::pair<std::string, std::string>, history> histories_;
};

} // namespace codeq::observe
