// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

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
  /// When the last record of an ended task expires, in shard time; the epoch (0): there is none.
  /// Ignores purged tasks.
  timestamp records_until{};
  /// The tasks with those records are below this sequence.
  sequence records_below = 0;
  /// When the last record of a purged task expires: until then `purged_below` hides it.
  timestamp purged_until{};

  friend bool operator==(const queue_totals&, const queue_totals&) = default;
};

/// Hides the records of a removed queue's purged tasks, also from a later queue of the same name.
struct purge_mark {
  sequence below = 0;
  /// When the last of those records expires, in shard time.
  timestamp until{};

  friend bool operator==(const purge_mark&, const purge_mark&) = default;
};

/// A queue without tasks and settings was removed, with its totals.
struct removed_queue {
  queue_address queue;
  /// Kept in place of the queue's totals. `below` is 0 when no mark is needed.
  purge_mark mark{};
};

/// All tasks of a queue below a sequence were purged, including those that have only a fate record.
struct queue_purge {
  queue_address queue;
  sequence below = 0;
};

/// For each queue: the sequence below which all of its tasks were purged.
using purge_marks = std::map<queue_address, sequence>;

} // namespace codeq::core
