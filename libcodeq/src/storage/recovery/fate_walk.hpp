// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "core/commands/event.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/task_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace codeq::storage {

/// Number of records that a step of a list has read, and how many it may read.
struct read_budget {
  std::size_t used = 0;
  std::size_t max = 0;

  [[nodiscard]] bool is_left() const noexcept { return used < max; }
};

/// Walks over the fates of one kind, in either direction of their tasks, and stops at each task of
/// a fate that may match a filter.
class fate_walk {
public:
  enum class kind : std::uint8_t { segments, copied_tasks };

  /// The tasks [first, last] of a shard, from `last` on if `is_down`.
  struct range {
    shard_id shard{};
    sequence first = 0;
    sequence last = 0;
    bool is_down = false;
  };

  fate_walk(kind of, const range& over);

  /// Reads one more fate, if the next task's was not read yet, and leaves it again when none of its
  /// tasks can match.
  [[nodiscard]] result<void> advance(
    const task_store& store, const task_filter& filter, timestamp now, read_budget& budget);

  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

  /// True at a task of a fate.
  [[nodiscard]] bool is_ready() const noexcept;

  /// The next task; without a fate the place from which on none was read yet. @pre !is_over()
  [[nodiscard]] sequence at() const noexcept { return at_; }

  /// @pre is_ready()
  [[nodiscard]] const core::segment_fate& fate() const noexcept { return *fate_; }

  /// Leaves the current task.
  void next();

private:
  [[nodiscard]] result<void> load(const task_store& store, read_budget& budget);

  /// Leaves the current fate if none of its tasks can match.
  void skip_unless(const task_filter& filter, timestamp now);

  /// Goes to that sequence, or ends behind the range.
  void move_to(sequence seq);
  void leave_fate();

  kind kind_;
  range range_;
  sequence at_ = 0;
  std::optional<core::segment_fate> fate_;
  bool is_started_ = false;
  bool is_over_ = false;
};

} // namespace codeq::storage
