// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace codeq::core {

/// A producer's own name for a task, as its segment has it, and how long the task has had it.
struct held_key {
  std::string name;
  /// Where in the log the task became live: its enqueue, or its latest redrive.
  log_position since = 0;
};

/// The tasks that one turn put into one lane, as the shard remembers them: no bodies, and nothing
/// per task until one of them is touched. An aside is a segment of one task that is deferred, of a
/// group, has a key or was copied.
struct segment {
  sequence first = 0;
  std::uint32_t count = 0;
  /// Tasks that are not terminal, or dead.
  std::uint32_t kept = 0;
  std::uint32_t queue = 0;
  std::uint8_t priority = 0;
  bool aside = false;
  /// The aside is a copy from a segment that was closed when most of its tasks had ended.
  bool copied = false;
  /// Changed since the last snapshot.
  bool dirty = false;
  task_settings settings;
  timestamp enqueued_at;
  /// The user's deferral of an aside; 0 is none.
  timestamp not_before;
  bool allow_promotion = false;
  /// Of an aside; empty is none.
  std::string group;
  /// Of an aside; null is none.
  std::unique_ptr<held_key> key;
  /// The body of an aside was replaced since its enqueue.
  bool replaced = false;
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

  /// The state of an aside at its enqueue, before its group's gate is looked at.
  [[nodiscard]] task_state fresh_state() const noexcept {
    if (!group.empty())
      return task_state::gated;
    return not_before == timestamp{} ? task_state::ready : task_state::scheduled;
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
