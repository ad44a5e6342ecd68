// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"

#include "actors/ask_coordinator.hpp"
#include "base/coordinator_counts.hpp"
#include "client/operator_replies.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Sums of what the coordinators of a cluster tell about themselves.
namespace codeq::client {

/// Gauge of a sum: the number of coordinators whose part is missing. Absent when none is.
inline constexpr const char* missing_coordinators_gauge = "codeq_coordinators_missing";

/// Gauge of a sum: the number of shards whose counts are missing: those of the coordinators that
/// are missing, and those that no coordinator serves at present. Absent when none is.
inline constexpr const char* missing_shards_gauge = "codeq_shards_missing";

/// Sets the two gauges. `shards`: number of shards whose counts are there; empty: not known.
void set_missing(
  std::map<std::string, std::int64_t>& gauges,
  std::size_t coordinators,
  std::optional<std::uint32_t> shards,
  std::uint32_t all_shards);

/// The same for a sum of what the coordinators that answered count, whose missing shards it names.
void set_missing(
  coordinator_stats& sum, actors::missing_answers missing, std::uint32_t all_shards);

/// Adds the counts of another coordinator; queues are merged by name, gauges by theirs.
void add(coordinator_stats& to, coordinator_stats part);

/// Adds the workers of another coordinator; those with the same name are merged. A slot is free at
/// the coordinator that has its credit, so that free slots add up.
void add(std::vector<worker_info>& to, std::vector<worker_info> part);

/// Adds a page of another shard's part of the audit log, read with the same filter: commands that
/// both have are one. Keeps at most `limit` commands, and only those as far back as both pages
/// reach.
void add(audit_page& to, audit_part part, std::size_t limit);

// The same, to the counts of an own coordinator.

void add(std::vector<base::queue_counts>& to, const std::vector<queue_stats>& part);
void add(std::vector<base::worker_counts>& to, const std::vector<worker_info>& part);

/// Whether a worker is drained, or is not, everywhere: by the sum of the answers to
/// `ask_drain` and the number of coordinators that did not answer. Errors: `disconnected`;
/// `unsupported` when a coordinator is of an older version; `invalid_argument` when none knows the
/// worker.
[[nodiscard]] result<void> check_drained(
  const std::string& name,
  bool is_drained,
  const std::vector<worker_info>& told,
  std::size_t missing);

} // namespace codeq::client
