// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace codeq::core {

/// The tasks that one turn put into one lane, as the shard remembers them: no bodies, and nothing
/// per task until one of them is touched. An aside is a segment of one task that is deferred or of
/// a group.
struct segment {
  sequence first = 0;
  std::uint32_t count = 0;
  /// Tasks that are not terminal, or dead.
  std::uint32_t kept = 0;
  std::uint32_t queue = 0;
  std::uint8_t priority = 0;
  bool aside = false;
  /// Changed since the last checkpoint.
  bool dirty = false;
  task_settings settings;
  timestamp enqueued_at;
  /// The user's deferral of an aside; 0 is none.
  timestamp not_before;
  bool allow_promotion = false;
  /// Of an aside; empty is none.
  std::string group;
  log_position appended = 0;
  std::uint64_t body_bytes = 0;
  /// One per task, or empty while all are as they were enqueued.
  std::vector<task_entry> entries;

  [[nodiscard]] bool contains(sequence seq) const noexcept {
    return seq >= first && seq - first < count;
  }

  /// The entry of `seq` for reading; a task that was never touched has a fresh one.
  [[nodiscard]] task_entry view(sequence seq) const {
    return entries.empty() ? task_entry{} : entries[seq - first];
  }

  /// Not before this time may the task be claimed; long past when nothing defers it.
  [[nodiscard]] timestamp eligible_at(sequence seq) const {
    return std::max(not_before, view(seq).retry_at);
  }

  /// The entry of `seq` for writing; opens the segment.
  [[nodiscard]] task_entry& touch(sequence seq) {
    if (entries.empty())
      entries.resize(count);
    return entries[seq - first];
  }
};

} // namespace codeq::core
