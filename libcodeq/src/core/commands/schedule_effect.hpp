// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/permit_command.hpp"
#include "core/commands/schedule_command.hpp"
#include "core/commands/schedule_event.hpp"
#include "core/commands/settings_command.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// Answers to requests for schedules, and what a schedule asks of other shards. As with all
/// effects, none may be carried out before the turn's events, and those of all earlier turns, are
/// durable.
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

/// A command for another shard; sent at most once. What is told of permits comes after a sync
/// (`sealed_turn::must_sync`).
struct shard_told {
  shard_id to{};
  std::variant<watch_ends, note_ends, cancel, settings_adopted, ask_permits, give_permits> what;
};

/// Occurrences were skipped or late; for log and metrics.
struct occurrence_noted {
  schedule_address name;
  occurrence entry;
};

} // namespace codeq::core
