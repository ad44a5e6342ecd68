// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/encoded_tasks.hpp"
#include "core/commands/event.hpp"

#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

/// The bodies of recent segments, within a bound of bytes: a task that is claimed soon after its
/// enqueue is not read back from the store. First in, first out; but a segment is dropped early
/// when its last task was granted, or, as long as attempts fail and their tasks will be needed
/// again, when all its tasks have ended. As long as they fail, the bound is three times as large: a
/// segment then stays for its last task that waits for a retry. Used by one actor.
class segment_cache {
public:
  /// `bytes_max`: the bound while no attempts fail.
  explicit segment_cache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Stores the bodies of a segment's tasks, in order. A segment larger than `bytes_max` is not
  /// kept.
  void insert(sequence segment, std::vector<core::encoded_tasks> pieces);

  /// Replaces the body of the task in an aside.
  void replace(sequence segment, core::encoded_tasks body);

  /// Takes over the bodies that the event contains, if any, and notes which segments are still
  /// needed.
  void take(core::event& e);

  /// The bodies of `count` tasks from `first` on, in one piece; empty if they are not cached. They
  /// share the cached bytes unless they are in several pieces.
  [[nodiscard]] std::optional<core::encoded_tasks>
  find(sequence segment, sequence first, std::uint32_t count) const;

  /// These tasks were granted, and the result of `find` for them was sent.
  void granted(sequence segment, sequence first, std::uint32_t count);

  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_; }

private:
  struct entry {
    std::vector<core::encoded_tasks> pieces;
    std::size_t bytes = 0;
    /// Its last task was granted.
    bool is_granted = false;
    /// Its position in `order_`.
    std::list<sequence>::iterator place;
  };

  using entry_map = std::unordered_map<sequence, entry>;

  void take(core::segment_appended& e);
  void take(core::tasks_changed& e);
  void take(const core::leases_ended& e);
  void take(const core::snapshot_taken& e);
  void drop(entry_map::iterator at);
  void drop_granted();

  /// Drops the oldest segments that exceed the bound.
  void drop_oldest();

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  /// Tasks will be retried: their attempts failed since the snapshot before the latest one.
  bool has_retries_ = false;
  /// Attempts failed since the latest snapshot.
  bool has_new_retries_ = false;
  entry_map segments_;
  /// Oldest first.
  std::list<sequence> order_;
};

} // namespace codeq::coordinator
