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

/// The bodies of the segments seen last, within a bound of bytes: a task that is claimed soon after
/// its enqueue is never read back. A segment whose last task was granted is let go, since only a
/// lost lease or a retry needs it again; else first in, first out. Used by one actor.
class segment_cache {
public:
  explicit segment_cache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Remembers the bodies of a segment's tasks, in order. A segment over the bound is not kept.
  void insert(sequence segment, std::vector<core::encoded_tasks> pieces);

  /// Puts another body in place of that of an aside's task.
  void replace(sequence segment, core::encoded_tasks body);

  /// Takes over the bodies that the event brings, if any.
  void take_bodies(core::event& e);

  /// The bodies of `count` tasks from `first` on, in one piece, or nothing. They share the cached
  /// bytes unless they lie in several pieces.
  [[nodiscard]] std::optional<core::encoded_tasks>
  find(sequence segment, sequence first, std::uint32_t count) const;

  /// These tasks were granted, and what `find` gave for them is sent.
  void granted(sequence segment, sequence first, std::uint32_t count);

  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_; }

private:
  struct entry {
    std::vector<core::encoded_tasks> pieces;
    std::size_t bytes = 0;
    /// Its place in the order.
    std::list<sequence>::iterator place;
  };

  using entry_map = std::unordered_map<sequence, entry>;

  void drop(entry_map::iterator at);
  void drop_oldest();

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  entry_map segments_;
  /// From the oldest on.
  std::list<sequence> order_;
};

} // namespace codeq::coordinator
