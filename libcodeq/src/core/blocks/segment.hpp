// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::core {

/// A producer's key of a task, stored in its segment, and since when the task has it.
struct held_key {
  std::string name;
  /// Position in the log where the task became live: its enqueue, or its latest redrive.
  log_position since = 0;
};

/// The tasks that one turn added to one lane, as stored in the shard's memory: no bodies, and no
/// data per task until one of them is touched. An aside is a segment of a single task that is
/// deferred, has a group, a key or limits, or was copied.
struct segment {
  sequence first = 0;
  std::uint32_t count = 0;
  /// Number of tasks that are live or dead.
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
  /// The user's deferral of an aside; 0: none.
  timestamp not_before;
  bool allow_promotion = false;
  /// For an aside; empty: none.
  std::string group;
  /// For an aside; null: none.
  std::unique_ptr<held_key> key;
  /// The same for all its tasks; null when they have none, as in most queues.
  std::unique_ptr<fairness_mark> fairness;
  /// For an aside; null: none.
  std::unique_ptr<std::vector<task_limit>> limits;
  /// The body of an aside was replaced after its enqueue.
  bool replaced = false;
  log_position appended = 0;
  std::uint64_t body_bytes = 0;
  /// One per task; empty while all tasks are unchanged since their enqueue.
  std::vector<task_entry> entries;

  [[nodiscard]] bool contains(sequence seq) const noexcept {
    return seq >= first && seq - first < count;
  }

  /// The fairness key of all its tasks.
  [[nodiscard]] std::string_view fairness_key() const noexcept {
    return fairness ? std::string_view(fairness->key) : std::string_view();
  }

  /// As stored in records.
  [[nodiscard]] fairness_mark mark() const { return fairness ? *fairness : fairness_mark{}; }

  /// As stored in records.
  [[nodiscard]] std::vector<task_limit> limit_uses() const {
    return limits ? *limits : std::vector<task_limit>{};
  }

  void set_limits(const std::vector<task_limit>& given) {
    limits = given.empty() ? nullptr : std::make_unique<std::vector<task_limit>>(given);
  }

  void set_mark(const fairness_mark& given) {
    fairness = given.is_set() ? std::make_unique<fairness_mark>(given) : nullptr;
  }

  /// The entry of `seq` for reading; a fresh one if no task was touched.
  [[nodiscard]] task_entry view(sequence seq) const {
    return entries.empty() ? task_entry{} : entries[seq - first];
  }

  /// The state of an aside at its enqueue, before its group's gate is considered.
  [[nodiscard]] task_state fresh_state() const noexcept {
    if (!group.empty())
      return task_state::gated;
    return not_before == timestamp{} ? task_state::ready : task_state::scheduled;
  }

  /// Time from which on the task may be claimed; in the past when nothing defers it.
  [[nodiscard]] timestamp eligible_at(sequence seq) const {
    return std::max(not_before, view(seq).retry_at);
  }

  /// The entry of `seq` for writing; creates the entries of the segment.
  [[nodiscard]] task_entry& touch(sequence seq) {
    if (entries.empty())
      entries.resize(count);
    return entries[seq - first];
  }
};

} // namespace codeq::core
