// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>
#include <map>

namespace codeq::core {

/// What is known of a queue's past; durable as of a snapshot, in a record of its own.
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

/// Nobody knows the tasks of a queue below a sequence any more, not even from their fates.
struct queue_purge {
  queue_address queue;
  sequence below = 0;
};

/// By queue, the sequence below which all of its tasks were purged.
using purge_marks = std::map<queue_address, sequence>;

} // namespace codeq::core
