// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/blocks/packed_set.hpp"
#include "core/blocks/segment_table.hpp"

#include <cstddef>
#include <optional>

namespace codeq::core {

/// The ready tasks of one queue and priority in the order of their enqueue: segments whose tasks
/// were never granted, and tasks that became ready again, in their old place.
class lane {
public:
  /// Adds a segment of fresh tasks; called with ascending `first`.
  void append(sequence first) { fresh_.insert({first, 0}); }

  /// Adds a task that became ready by its time, or ready again.
  void put_back(sequence seq) { returned_.insert({seq, 0}); }

  /// Removes a task that was put back.
  void remove(sequence seq) { returned_.erase({seq, 0}); }

  /// Removes a segment that is closed, wherever it is; does nothing when the lane lacks it.
  void forget(sequence first) { fresh_.erase({first, 0}); }

  /// Number of segments, also of those that `front` would skip.
  [[nodiscard]] std::size_t segments() const noexcept { return fresh_.size(); }

  /// The first ready tasks: consecutive, of one segment, at most `limit`; count 0 when none is
  /// ready. Removes nothing: fresh tasks leave the lane as soon as they are touched, others by
  /// `remove`. Amortised constant in the number of skipped tasks.
  [[nodiscard]] seq_run front(segment_table& segments, std::uint32_t limit);

  /// The first tasks of both kinds; of tasks that returned, the one with the oldest place.
  struct heads {
    std::optional<sequence> fresh;
    std::optional<sequence> returned;
  };

  [[nodiscard]] heads first_tasks(segment_table& segments);

  /// A task that none of its ready tasks precedes; it may have left the lane. Constant time.
  [[nodiscard]] std::optional<sequence> lower_bound() const;

private:
  /// Skips touched tasks; returns the segment at the head, or null.
  segment* settle(segment_table& segments);

  /// The first tasks that were put back. @pre there are some
  [[nodiscard]] seq_run front_of_returned(segment_table& segments, std::uint32_t limit);

  /// The first task of each segment.
  packed_set fresh_;
  /// Tasks of the head segment before this one were touched.
  sequence cursor_ = 0;
  packed_set returned_;
};

} // namespace codeq::core
