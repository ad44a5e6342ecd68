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
  std::string tenant;
  std::string name;

  friend auto operator<=>(const schedule_address&, const schedule_address&) = default;
};

/// Which of the nominal times fire that passed while the coordinator did not serve. Stored on disk,
/// never renumber.
enum class misfire_policy : std::uint8_t {
  latest = 0, ///< Only the newest one.
  all = 1,    ///< All of them in order, at most `limits::schedule_misfires_max`.
  skip = 2,   ///< None.
};

/// How an occurrence is treated whose predecessor has not ended. Stored on disk, never renumber.
enum class overlap_policy : std::uint8_t {
  skip = 0,            ///< It does not fire.
  allow = 1,           ///< It fires.
  queue_one = 2,       ///< It fires when the predecessor ends; a second one that waits is skipped.
  cancel_previous = 3, ///< Its predecessors are cancelled, and it fires.
};

/// How a nominal time is treated that the local clock leaves out. Stored on disk, never renumber.
enum class gap_policy : std::uint8_t {
  shift = 0, ///< It fires at the end of the gap.
  skip = 1,  ///< It does not fire.
};

/// Which of two equal local times fire when the local clock is set back. Stored on disk, never
/// renumber.
enum class fold_policy : std::uint8_t {
  first = 0,
  last = 1,
  both = 2,
};

/// When a schedule fires: by `cron` or by `every`, not both.
struct schedule_rule {
  /// Five fields (minute, hour, day of month, month, day of week), or six with seconds first; or
  /// `@daily` and the like.
  std::string cron{};
  /// A fixed period, counted from `anchor`; 0: by `cron`.
  duration every{0};
  /// Default: 1970-01-01 00:00:00 UTC.
  std::optional<timestamp> anchor{};
  /// IANA name of the time zone in which `cron` is read.
  std::string zone = "UTC";
  /// No nominal time before it fires. Default: none.
  std::optional<timestamp> start{};
  /// No nominal time at or after it fires. Default: none.
  std::optional<timestamp> end{};
  gap_policy gap = gap_policy::shift;
  fold_policy fold = fold_policy::first;
};

/// A schedule as its owner sets it.
struct schedule_spec {
  schedule_rule rule;
  /// An occurrence starts up to this much after its nominal time, at a delay that its name and time
  /// determine.
  duration jitter{0};
  /// Nominal times that passed longer ago than this do not fire any more. Default: 1 h.
  duration catch_up = std::chrono::hours(1);
  misfire_policy misfire = misfire_policy::latest;
  overlap_policy overlap = overlap_policy::skip;
  /// The task that each occurrence enqueues. It belongs to the schedule's tenant, and its
  /// `not_before` is not used.
  task_spec task;
};

/// Why an occurrence was to fire. Stored on disk, never renumber.
enum class occurrence_cause : std::uint8_t {
  due = 0,      ///< Its nominal time came.
  run_now = 1,  ///< An operator asked for it.
  backfill = 2, ///< It belongs to a past range that an operator named.
};

/// What became of an occurrence. Stored on disk, never renumber.
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

[[nodiscard]] std::string_view to_string(misfire_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(overlap_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(gap_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(fold_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(occurrence_cause cause) noexcept;
[[nodiscard]] std::string_view to_string(occurrence_state state) noexcept;

/// A time at which a schedule fires.
struct schedule_time {
  /// The nominal time on the local clock, with its offset: `2026-03-29T02:30:00+01:00`.
  std::string nominal;
  /// The same as an instant, without jitter.
  timestamp at;
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

/// What a request for a schedule did.
enum class schedule_result : std::uint8_t {
  unchanged = 0,
  created = 1,
  changed = 2,
  deleted = 3,
  fired = 4,
};

[[nodiscard]] std::string_view to_string(schedule_result result) noexcept;

} // namespace codeq
