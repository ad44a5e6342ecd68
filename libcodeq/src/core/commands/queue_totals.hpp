// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>
#include <map>

namespace codeq::core {

/// Totals of a queue; durable as of a snapshot, in a record of its own.
struct queue_totals {
  queue_address queue;
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t lost = 0;
  /// All tasks of the queue with a smaller sequence were purged.
  sequence purged_below = 0;

  friend bool operator==(const queue_totals&, const queue_totals&) = default;
};

/// All tasks of a queue below a sequence were purged, including those that have only a fate record.
struct queue_purge {
  queue_address queue;
  sequence below = 0;
};

/// For each queue: the sequence below which all of its tasks were purged.
using purge_marks = std::map<queue_address, sequence>;

} // namespace codeq::core
