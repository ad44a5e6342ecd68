// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "base/json_writer.hpp"
#include "core/commands/operator_command.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// The change that an operation makes to each task that its filter matches. Stored by name.
enum class operation_kind : std::uint8_t { redrive, purge, cancel, promote };

/// In the order of `operation_kind`.
inline constexpr auto operation_kinds =
  std::to_array<std::string_view>({"redrive", "purge", "cancel", "promote"});

/// Stored by name.
enum class operation_status : std::uint8_t { running, paused, completed, cancelled };

/// In the order of `operation_status`.
inline constexpr auto operation_statuses =
  std::to_array<std::string_view>({"running", "paused", "completed", "cancelled"});

/// The stage of a running operation. Stored by name.
enum class operation_phase : std::uint8_t {
  counting, ///< Counts the tasks that match, so that the size of the canary is known.
  canary,   ///< Changes the tasks of the canary.
  watching, ///< Waits until the tasks of the canary ran.
  changing, ///< Changes all others.
};

/// In the order of `operation_phase`.
inline constexpr auto operation_phases =
  std::to_array<std::string_view>({"counting", "canary", "watching", "changing"});

/// A user who started or changed an operation.
struct operation_user {
  /// The holder of the token; empty without tokens.
  std::string subject{};
  /// The tenant of the token, `*` for all; empty without tokens.
  std::string bearer_tenant{};
  std::string remote{};
  /// The token is in the token file: the operation pauses when it is removed. False for a JWT.
  bool is_listed = false;

  friend bool operator==(const operation_user&, const operation_user&) = default;
};

/// A request to start an operation.
struct operation_request {
  std::string tenant{};
  operation_kind kind = operation_kind::redrive;
  /// The tenant is the operation's. A redrive and a purge are about dead tasks.
  task_filter filter{};
  /// Maximum number of tasks per second; 0: unlimited.
  std::uint64_t rate = 0;
  /// Maximum number of tasks; 0: all.
  std::uint64_t limit = 0;
  /// Redrive only: changes 1 % of the tasks first, and pauses when more than this percentage of
  /// those that ran since failed again.
  std::optional<std::uint32_t> canary{};
};

/// Something that was done to an operation.
struct operation_event {
  timestamp at{};
  /// `start`, `pause`, `resume`, `cancel`, `stop` (by the coordinator), `end`.
  std::string what{};
  /// Empty when the coordinator did it.
  std::string subject{};
  std::string remote{};

  friend bool operator==(const operation_event&, const operation_event&) = default;
};

/// A redriven task of the canary: it has not ended yet.
struct canary_task {
  std::uint16_t shard = 0;
  core::dead_task task{};
};

/// An operation and its progress, as it is stored.
struct bulk_operation {
  std::string id{};
  operation_request request{};
  /// When it was accepted, in shard time: later deaths and enqueues do not match.
  timestamp started_at{};
  /// With `started_at`, the operation's place in the audit log.
  std::uint64_t number = 0;
  /// The user who started or resumed it: its changes are made with this user's rights.
  operation_user by{};

  operation_status status = operation_status::running;
  operation_phase phase = operation_phase::changing;
  /// Why it was paused by the coordinator; empty when a user paused it.
  std::string reason{};
  timestamp ended_at{};
  /// The latest ones, at most `limits::operation_events_max`.
  std::vector<operation_event> events{};

  /// Number of tasks that were found and changed, or found and left alone: their state, their key
  /// or their producer does not allow the change.
  std::uint64_t done = 0;
  std::uint64_t unchanged = 0;
  /// Number of tasks that matched at the start; only known with a canary.
  std::optional<std::uint64_t> total{};
  /// The place: tasks up to that sequence of that shard are dealt with, and all earlier shards.
  std::uint16_t shard = 0;
  sequence after = 0;

  /// The tasks that are being changed; stored before the first of them is changed.
  std::vector<core::dead_task> part{};
  /// The place behind the part, and whether the shard may have more tasks.
  sequence part_after = 0;
  bool part_has_more = false;

  /// The tasks of the canary that have not run yet, and how many of the others failed.
  std::vector<canary_task> canary{};
  std::uint64_t canary_ran = 0;
  std::uint64_t canary_failed = 0;
};

[[nodiscard]] constexpr bool is_over(operation_status status) noexcept {
  return status == operation_status::completed || status == operation_status::cancelled;
}

/// An operation that is over.
struct ended_operation {
  timestamp ended_at{};
  std::string tenant{};
  std::string id{};
};

/// The ids of the ended operations that are kept no longer: they are too old, or their tenant, or
/// all tenants together, have too many, of which the oldest go.
[[nodiscard]] std::vector<std::string>
find_outdated(std::vector<ended_operation> ended, timestamp now);

/// The JSON text that is stored. Fields are only added.
[[nodiscard]] std::string to_record(const bulk_operation& o);

/// The refusal of an operation that the tenant does not have.
[[nodiscard]] error unknown_operation(const std::string& tenant, const std::string& id);

/// Errors: `corruption`.
[[nodiscard]] result<bulk_operation> read_operation(std::string_view record);

/// Writes the operation as users see it, as members of an object. `problem`: why it waits at
/// present; may be empty.
void write_operation(
  base::json_writer& json, const bulk_operation& o, std::uint16_t shards, std::string_view problem);

} // namespace codeq::http
