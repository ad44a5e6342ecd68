// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/segment.hpp"

#include <deque>
#include <map>
#include <set>

namespace codeq::core {

/// All segments of a shard that have a task to keep, by their first task. Ordered, because a task's
/// segment is the last one that starts at or before it.
using segment_map = std::map<sequence, segment>;

/// The segment of a task, or null. Logarithmic in the number of segments.
[[nodiscard]] inline segment* find_segment(segment_map& segments, sequence seq) {
  auto at = segments.upper_bound(seq);
  if (at == segments.begin())
    return nullptr;
  --at;
  return at->second.contains(seq) ? &at->second : nullptr;
}

/// As `find_segment`, but null also for a task that was purged: nobody knows it.
[[nodiscard]] inline segment* find_known(segment_map& segments, sequence seq) {
  auto* s = find_segment(segments, seq);
  return s && !s->view(seq).gone ? s : nullptr;
}

/// The ready tasks of one (queue, priority) in the order of their enqueue: segments in a row whose
/// tasks were never handed out, and the few that became ready again with their old place.
class lane {
public:
  /// Adds a segment of fresh tasks; called with ascending `first`.
  void append(sequence first) { fresh_.push_back(first); }

  /// Adds a task that became ready by its time or again.
  void put_back(sequence seq) { returned_.insert(seq); }

  /// Takes a task out that was put back.
  void remove(sequence seq) { returned_.erase(seq); }

  /// The first ready tasks: consecutive, of one segment, at most `limit`; count 0 when none is
  /// ready. Takes nothing out: fresh tasks leave as soon as they are touched, others by `remove`.
  /// Amortised constant in the tasks skipped.
  [[nodiscard]] seq_run front(segment_map& segments, std::uint32_t limit);

private:
  /// Skips fresh tasks that were touched; returns the segment at the head, or null.
  segment* settle(segment_map& segments);

  std::deque<sequence> fresh_;
  /// Tasks of the head segment before this one were touched.
  sequence cursor_ = 0;
  std::set<sequence> returned_;
};

} // namespace codeq::core
