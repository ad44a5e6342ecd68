// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/schedule.hpp"
#include "codeq/time.hpp"

#include "core/commands/schedule_command.hpp"
#include "core/commands/seq_run.hpp"
#include "schedule/nominal_time.hpp"

#include <cstdint>
#include <optional>
#include <vector>

/// How far a schedule has come, and the event that records it.
namespace codeq::core {

/// An entry of a schedule's history.
struct occurrence {
  /// Number of the schedule's entries before it.
  std::uint64_t number = 0;
  schedule::nominal_time nominal;
  /// When it was due.
  timestamp at;
  /// When it fired or was skipped.
  timestamp decided_at;
  occurrence_cause cause = occurrence_cause::due;
  occurrence_state state = occurrence_state::running;
  /// With a skipped entry: the number of consecutive nominal times, of which `nominal` is the last.
  std::uint64_t count = 1;
  /// The task; 0 until its shard has confirmed it.
  shard_id shard{};
  sequence task = 0;
  timestamp ended_at{};

  friend bool operator==(const occurrence&, const occurrence&) = default;
};

/// An occurrence whose task has not ended.
struct open_occurrence {
  occurrence entry;
  /// The record with the task for another shard, until that shard has confirmed it, and the place
  /// of the task among those for that shard; 0: confirmed.
  log_position sent = 0;
  std::uint32_t place = 0;
  /// Its successor cancels it once its task is known.
  bool is_unwanted = false;

  friend bool operator==(const open_occurrence&, const open_occurrence&) = default;
};

/// An occurrence that waits for the end of its predecessor.
struct waiting_occurrence {
  schedule::nominal_time nominal;
  timestamp at;
  /// Number of its entry in the history.
  std::uint64_t number = 0;

  friend bool operator==(const waiting_occurrence&, const waiting_occurrence&) = default;
};

/// How far a schedule has come.
struct schedule_progress {
  /// The newest nominal time that fired or was passed over; it stands for all before it, none of
  /// which fires again.
  schedule::nominal_time mark;
  /// Number of entries of its history so far, including those that are no longer kept.
  std::uint64_t occurrences = 0;
  bool paused = false;
  std::optional<waiting_occurrence> waiting{};
  /// In the order of their numbers.
  std::vector<open_occurrence> open{};
  /// The latest entry, if there is one.
  std::optional<occurrence> latest{};

  friend bool operator==(const schedule_progress&, const schedule_progress&) = default;
};

/// A schedule was set, moved on or removed. It is self-contained: a schedule's latest event is its
/// whole state.
struct schedule_changed {
  log_position position = 0;
  timestamp at;
  schedule_address name;
  /// The new definition; null: unchanged.
  definition_ptr definition{};
  /// The schedule is gone. `progress` is then its last one.
  bool is_removed = false;
  schedule_progress progress{};
  /// New and changed entries of its history.
  std::vector<occurrence> entries{};
  /// Tasks of occurrences are in the same write, which has to be synced before they are claimed.
  /// Not part of the record.
  bool is_fired = false;
};

} // namespace codeq::core
