// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/schedule.hpp"
#include "codeq/time.hpp"

#include "core/commands/audit_entry.hpp"
#include "core/commands/operator_command.hpp"
#include "schedule/nominal_time.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Requests for schedules. The core knows neither rules nor time zones: the caller computes which
/// nominal times are due, and the core decides what becomes of them.
namespace codeq::core {

struct enqueue_run;

/// The definition of a schedule, as it was set. Never changed, only replaced.
struct schedule_definition {
  /// A packed `ScheduleSpec` message. The core compares it and does not read it.
  std::string spec;
  overlap_policy overlap = overlap_policy::skip;

  friend bool operator==(const schedule_definition&, const schedule_definition&) = default;
};

using definition_ptr = std::shared_ptr<const schedule_definition>;

/// Adds a schedule, or replaces its definition; an equal one changes nothing. Effect:
/// `schedule_answered`.
struct set_schedule {
  peer_id peer = 0;
  std::uint64_t number = 0;
  schedule_address name;
  definition_ptr definition;
  /// The schedule's mark with this definition; see `schedule_progress`.
  schedule::nominal_time mark{};
  /// An error refuses the request.
  result<void> allowed{};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

enum class schedule_change : std::uint8_t { pause, resume, remove };

/// Occurrences that are due while a schedule is paused do not fire. Effect: `schedule_answered`.
struct change_schedule {
  peer_id peer = 0;
  std::uint64_t number = 0;
  schedule_address name;
  schedule_change what = schedule_change::pause;
  /// With `resume`: the schedule's mark from then on.
  schedule::nominal_time mark{};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Queries a schedule. Effect: `schedule_answered`.
struct show_schedule {
  peer_id peer = 0;
  std::uint64_t number = 0;
  schedule_address name;
  /// Number of the next nominal times that are wanted.
  std::uint32_t next = 1;
  /// The entries of its history are wanted, too, which are in the store.
  bool with_history = false;
};

/// Lists schedules of a tenant in the order of their names. Effect: `schedules_listed`.
struct list_schedules {
  peer_id peer = 0;
  std::uint64_t number = 0;
  std::string tenant;
  /// Only schedules with greater names.
  std::string after;
  std::uint32_t limit = 0;
};

/// An occurrence that is to fire, with its task.
struct planned_occurrence {
  schedule::nominal_time nominal;
  /// When it is due.
  timestamp at;
  /// A run with one task, and the shard that it belongs to.
  shard_id shard{};
  std::shared_ptr<const enqueue_run> task;
};

/// Fires occurrences and moves the schedule on, in one write. Does nothing when the schedule is not
/// as the caller saw it. Effect: `schedule_answered`, unless the cause is `due`.
struct fire_schedule {
  peer_id peer = 0;
  std::uint64_t number = 0;
  schedule_address name;
  /// The definition that the caller used.
  definition_ptr definition;
  occurrence_cause cause = occurrence_cause::due;
  /// The occurrence is the one that waited for its predecessor.
  bool is_waiting = false;
  /// With the cause `due`: the schedule's mark before, and the new one.
  schedule::nominal_time from{};
  schedule::nominal_time to{};
  /// In order.
  std::vector<planned_occurrence> fire{};
  /// Number of occurrences before those that are passed over, and the last one of them.
  std::uint64_t skipped = 0;
  schedule::nominal_time last_skipped{};
  timestamp last_skipped_at{};
  /// When the caller has to look at the schedule again; empty: not before it changes.
  std::optional<timestamp> next{};
  /// An error refuses the request.
  result<void> allowed{};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// The shard `from` wants to know when these tasks end. Effect: `shard_told`, now or later.
struct watch_ends {
  shard_id from{};
  std::vector<sequence> tasks;
};

/// The end of a task of another shard.
struct told_end {
  sequence seq = 0;
  occurrence_state how = occurrence_state::ended;
};

/// Tasks of the shard `by` have ended.
struct note_ends {
  shard_id by{};
  std::vector<told_end> ends;
};

} // namespace codeq::core
