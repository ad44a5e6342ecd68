// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "coordinator/shard/shard.hpp"
#include "observe/line_pace.hpp"

#include <cstdint>
#include <string>

namespace codeq::coordinator {

/// Maximum number of log lines about expired leases of a queue at a shard.
inline constexpr std::uint32_t expiry_lines_per_second = 1;

/// Writes the log lines of a shard. Each queue and each schedule has a bounded number of lines.
class shard_log {
public:
  explicit shard_log(shard_id shard) : shard_(shard) {}

  // See `shard_port`.

  void note_expired(const core::leases_expired& expired, monotonic_time now);
  void note_breaker(const core::breaker_tripped& tripped) const;
  void note_occurrence(const core::occurrence_noted& noted, const instant& now);
  void note_grants(grant_pause why) const;

  /// Logs when the disk begins and ends to have too little space for new tasks. All shards see the
  /// same disk, so only the first one logs it.
  void note_disk(const result<void>& has_room);

private:
  /// Logs that tasks of the queue `owner` are dead by its `quarantine_after`.
  void note_quarantined(
    const core::leases_expired& expired, const std::string& owner, monotonic_time now);

  shard_id shard_;
  bool is_disk_low_ = false;
  /// Bounds the lines about expired leases of each queue.
  observe::line_pace expiry_lines_{expiry_lines_per_second};
  observe::line_pace quarantine_lines_{expiry_lines_per_second};
  /// The same for lines about occurrences of each schedule.
  observe::line_pace occurrence_lines_{expiry_lines_per_second};
};

} // namespace codeq::coordinator
