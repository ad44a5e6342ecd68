// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include <cstdint>
#include <string_view>

namespace codeq::schedule {

/// Reads the output of `to_string`. Errors: `invalid_argument` names field, value and choices.
[[nodiscard]] result<overlap_policy> parse_overlap_policy(std::string_view text);

/// What the shard of a schedule knows of its earlier occurrences.
struct overlap_state {
  /// A task of an earlier occurrence has not ended.
  bool is_running = false;
  /// An occurrence waits for that end.
  bool is_one_waiting = false;
};

/// What to do with an occurrence that is due.
struct overlap_decision {
  enum class act : std::uint8_t {
    /// Add its task now.
    enqueue = 0,
    /// It waits until what runs has ended. It is remembered with the schedule.
    wait = 1,
    /// It is skipped, for the reason that its predecessor still runs.
    skip = 2,
  };

  act what = act::enqueue;
  /// Ask for the cancel of each task that runs. Repeats are harmless.
  bool cancels_running = false;
  /// The one that waited is skipped.
  bool replaces_waiting = false;

  friend bool operator==(const overlap_decision&, const overlap_decision&) = default;
};

/// Decides for one occurrence. Occurrences that are started by hand (`run`, `backfill`) are not
/// decided: they are always added, and do not count as running.
[[nodiscard]] overlap_decision decide_overlap(overlap_policy policy, overlap_state state);

/// True when the waiting occurrence is to be added now: call it after each end, and after a change
/// of the policy.
[[nodiscard]] bool releases_waiting(overlap_policy policy, overlap_state state);

} // namespace codeq::schedule
