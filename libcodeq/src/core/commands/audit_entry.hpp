// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include "core/commands/seq_run.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// The audit log of a shard: who changed what by which command.
namespace codeq::core {

/// Where a command came from. All parts of a command share one origin.
struct command_origin {
  /// When the command came, in shard time.
  timestamp at;
  /// Never used twice with the same `at`.
  std::uint64_t operation = 0;
  /// The holder of the token and its tenant; empty without tokens.
  std::string subject{};
  std::string tenant{};
  std::string remote{};
  /// The command is entered in the audit log. Producers change tasks of their own, which only the
  /// tasks' histories show.
  bool is_audited = true;
};

using origin_ptr = std::shared_ptr<const command_origin>;

/// Changes that a command has made on a shard so far.
struct audit_entry {
  origin_ptr by;
  operator_action action = operator_action::cancel;
  /// See `audited_command`.
  std::string tenant{};
  std::string queue;
  sequence task = 0;
  std::uint64_t changed = 0;
  std::string detail;
  /// A part of the entry's key: a position of the shard's log.
  log_position position = 0;
};

/// Operators' commands changed something. Recovery does not need this event.
struct commands_audited {
  log_position position = 0;
  timestamp at;
  /// Each replaces the entry with the same key.
  std::vector<audit_entry> entries;
};

} // namespace codeq::core
