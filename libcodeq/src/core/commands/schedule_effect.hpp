// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/schedule_command.hpp"
#include "core/commands/schedule_event.hpp"

#include <cstdint>
#include <vector>

/// Answers to requests for schedules, and notes about occurrences. As with all effects, none may be
/// carried out before the turn's events, and those of all earlier turns, are durable.
namespace codeq::core {

/// A schedule as a command left it.
struct schedule_view {
  schedule_address name;
  /// Null when there is no such schedule.
  definition_ptr definition{};
  schedule_progress progress{};
};

/// Answers a request for one schedule.
struct schedule_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  schedule_result what = schedule_result::unchanged;
  schedule_view view;
  /// Number of the next nominal times that are wanted; the core does not know them.
  std::uint32_t next = 1;
  bool with_history = false;
  /// An error when nothing was done.
  result<void> allowed{};
};

/// Answers a list of schedules.
struct schedules_listed {
  peer_id peer = 0;
  std::uint64_t number = 0;
  std::vector<schedule_view> schedules;
  /// There are schedules after the last one.
  bool more = false;
};

/// Occurrences were skipped or late; for log and metrics.
struct occurrence_noted {
  schedule_address name;
  occurrence entry;
};

} // namespace codeq::core
