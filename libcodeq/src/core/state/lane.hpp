// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/blocks/packed_set.hpp"
#include "core/blocks/segment_table.hpp"

namespace codeq::core {

/// The ready tasks of one (queue, priority) in the order of their enqueue: segments in a row whose
/// tasks were never handed out, and those that became ready again with their old place.
class lane {
public:
  /// Adds a segment of fresh tasks; called with ascending `first`.
  void append(sequence first) { fresh_.insert({first, 0}); }

  /// Adds a task that became ready by its time or again.
  void put_back(sequence seq) { returned_.insert({seq, 0}); }

  /// Takes a task out that was put back.
  void remove(sequence seq) { returned_.erase({seq, 0}); }

  /// The first ready tasks: consecutive, of one segment, at most `limit`; count 0 when none is
  /// ready. Takes nothing out: fresh tasks leave as soon as they are touched, others by `remove`.
  /// Amortised constant in the tasks skipped.
  [[nodiscard]] seq_run front(segment_table& segments, std::uint32_t limit);

private:
  /// Skips fresh tasks that were touched; returns the segment at the head, or null.
  segment* settle(segment_table& segments);

  /// The first task of each segment.
  packed_set fresh_;
  /// Tasks of the head segment before this one were touched.
  sequence cursor_ = 0;
  packed_set returned_;
};

} // namespace codeq::core
