// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include <cstdint>
#include <map>
#include <string>

/// The names of all metrics and what they say.
namespace codeq::observe {

/// What a process counts beside its shards.
struct process_counts {
  std::int64_t http_connections = 0;
  std::uint64_t http_connections_refused = 0;
  /// By the first digit of the status: "2xx".
  std::map<std::string, std::uint64_t> http_answers;
  /// How often a limit that keeps tenants and peers apart was met, by its name.
  std::map<std::string, std::uint64_t> limits_met;
  std::uint64_t journal_groups = 0;
  std::uint64_t journal_parts = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_microseconds = 0;
  std::uint64_t store_stall_microseconds = 0;
  /// Counters of the store, by their names there.
  std::map<std::string, std::uint64_t> store;
};

/// All metrics in Prometheus' text format.
[[nodiscard]] std::string
metrics_text(const coordinator_stats& stats, const process_counts& process);

} // namespace codeq::observe
