// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Schedules enqueue tasks by the clock.
namespace codeq {

/// A schedule within its tenant; both `[A-Za-z0-9._-]{1,128}`.
struct schedule_address {
  std::string tenant = "default";
  std::string name{};

  friend auto operator<=>(const schedule_address&, const schedule_address&) = default;
};

/// How a schedule treats the nominal times that passed while no coordinator served its shard. The
/// times of a pause are not caught up. Never renumber.
enum class misfire_policy : std::uint8_t {
  latest = 0, ///< The newest one within `schedule_spec::catch_up` fires.
  all = 1,    ///< Those within `catch_up` fire, in order; only the newest 1,000 of more.
  skip = 2,   ///< None fires.
};

/// How a schedule treats an occurrence that is due while the task of an earlier one has not ended.
/// Stored on disk, never renumber.
enum class overlap_policy : std::uint8_t {
  allow = 0,     ///< Its task is enqueued all the same.
  skip = 1,      ///< It is skipped.
  queue_one = 2, ///< It waits for the end of that task; further ones are skipped meanwhile.
  /// That task is cancelled, and the occurrence waits for its end; a newer one takes its place.
  cancel_previous = 3,
};

[[nodiscard]] std::string_view to_string(misfire_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(overlap_policy policy) noexcept;

/// A schedule as its owner sets it.
struct schedule_spec {
  /// When it fires: a cron expression of 5 or 6 fields or `every 90s`, then `; field=value` for
  /// others, as in `30 2 * * 1-5; zone=Europe/Berlin; gap=skip`. Fields are `zone` (IANA name,
  /// default `UTC`), `gap` (`shift` or `skip`), `fold` (`first`, `last` or `both`), `start`, `end`
  /// and `anchor` (RFC 3339) and `jitter`.
  std::string rule{};
  misfire_policy misfire = misfire_policy::latest;
  /// Nominal times that passed longer ago than this do not fire any more. 0 to 365 d.
  duration catch_up = std::chrono::hours(1);
  overlap_policy overlap = overlap_policy::skip;
  /// The task that each occurrence enqueues. It belongs to the schedule's tenant; `delay` and
  /// `not_before` may not be set, because the rule says when.
  task_spec task{};
};

/// Why an occurrence was to fire. Stored on disk, never renumber.
enum class occurrence_cause : std::uint8_t {
  due = 0,      ///< Its nominal time came.
  run_now = 1,  ///< An operator asked for it.
  backfill = 2, ///< It belongs to a past range that an operator named.
};

/// The fate of an occurrence. Stored on disk, never renumber.
enum class occurrence_state : std::uint8_t {
  running = 0, ///< Its task was enqueued and has not ended.
  completed = 1,
  dead = 2,
  cancelled = 3,
  ended = 4,           ///< Its task ended; how is not known to the schedule any more.
  skipped_overlap = 5, ///< Its predecessor had not ended.
  skipped_misfire = 6, ///< It was late, and the policy or the window left it out.
  waiting = 7,         ///< It fires when its predecessor ends.
};

[[nodiscard]] std::string_view to_string(occurrence_cause cause) noexcept;
[[nodiscard]] std::string_view to_string(occurrence_state state) noexcept;

/// One occurrence's time.
struct schedule_time {
  /// The time on the local clock of the schedule's zone by which the occurrence is known:
  /// `2026-10-25T02:30:00`, with ` second` behind it for the second of two.
  std::string nominal;
  /// When it is due.
  timestamp at;
  /// The same on the local clock, with its offset: `2026-10-25T02:30:00+01:00`.
  std::string local{};
};

/// An entry of a schedule's history.
struct schedule_occurrence {
  std::uint64_t number = 0;
  schedule_time when;
  /// When it fired or was skipped.
  timestamp decided_at;
  occurrence_cause cause = occurrence_cause::due;
  occurrence_state state = occurrence_state::running;
  /// Number of consecutive nominal times that a skipped entry stands for; `when` is the last one.
  std::uint64_t count = 1;
  /// Empty for a skipped one, and until the shard of its task has confirmed it.
  std::optional<task_id> task{};
  std::optional<timestamp> ended_at{};
};

/// A schedule and how far it has come.
struct schedule_info {
  schedule_address name;
  schedule_spec spec;
  bool paused = false;
  /// The next times at which it fires.
  std::vector<schedule_time> next{};
  /// The latest entry of its history, if there is one.
  std::optional<schedule_occurrence> latest{};
  /// Number of occurrences whose tasks have not ended.
  std::uint32_t running = 0;
  /// An occurrence waits for the end of its predecessor.
  bool has_waiting = false;
  /// Number of all entries of its history, including those that are no longer kept.
  std::uint64_t occurrences = 0;
};

/// The effect of a request for a schedule.
enum class schedule_result : std::uint8_t {
  unchanged = 0,
  created = 1,
  changed = 2,
  deleted = 3,
  fired = 4,
};

[[nodiscard]] std::string_view to_string(schedule_result result) noexcept;

/// When the schedule fires next, and what became of its latest occurrence, for people.
[[nodiscard]] std::string explain(const schedule_info& schedule, timestamp now);

/// An action on a schedule as it is.
enum class schedule_action : std::uint8_t {
  pause,
  resume,
  remove,
  run, ///< Fires it now, once, whatever its rule and its overlap policy say.
};

/// The effect of a request for a schedule, and the schedule after it.
struct schedule_answer {
  schedule_result what = schedule_result::unchanged;
  schedule_info schedule;
};

} // namespace codeq
