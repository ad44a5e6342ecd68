// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/encoded_tasks.hpp"
#include "core/event.hpp"

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

/// The bodies of the segments seen last, within a bound of bytes: a task that is claimed soon after
/// its enqueue is never read back. First in, first out; used by one actor.
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

  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_; }

private:
  struct entry {
    std::vector<core::encoded_tasks> pieces;
    std::size_t bytes = 0;
  };

  void drop_oldest();

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::unordered_map<sequence, entry> segments_;
  std::deque<sequence> order_;
};

} // namespace codeq::coordinator
