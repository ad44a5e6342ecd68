// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/audit_entry.hpp"
#include "core/commands/operator_command.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Requests about limits, and what is written and answered. Every shard has the definitions of all
/// limits; the shard that `shard_of_limit_key` names has the key's leases, starts and tasks. Bounds
/// have been checked before a command is created.
namespace codeq::core {

/// Defines a limit, changes its definition, or removes it. Effect: `limits_answered`.
struct set_limit {
  peer_id peer = 0;
  std::uint64_t number = 0;
  limit_address limit;
  /// Empty: the limit is removed.
  std::optional<limit_definition> definition{};
  /// Changes nothing.
  bool is_dry_run = false;
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// A part of a list, in the order of bytes.
struct limit_part {
  /// Only names or keys that come after this one.
  std::string after{};
  /// 1..`limits::limits_page_max`.
  std::uint32_t limit = 0;
  /// Also those that `after` would leave out, from the empty one on.
  bool from_start = true;
};

/// Queries one limit, or all limits of a tenant. Effect: `limits_answered`.
struct list_limits {
  peer_id peer = 0;
  std::uint64_t number = 0;
  /// The name is empty for a list.
  limit_address limit;
  limit_part part{};
};

/// Queries the keys of a limit that are in use on the shard. Effect: `limits_answered`.
struct list_limit_keys {
  peer_id peer = 0;
  std::uint64_t number = 0;
  limit_address limit;
  limit_part part{};
  /// Only keys with leases or held tasks.
  bool only_busy = false;
};

/// Closes a limit key: nothing of it starts for so long; zero opens it. Effect: `limits_answered`,
/// when no shard has permits of the key any more that it may spend (`permit_recalls`).
struct close_limit_key {
  peer_id peer = 0;
  std::uint64_t number = 0;
  limit_address limit;
  std::string limit_key{};
  duration closed_for{0};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// The definition of a limit from now on.
struct limit_defined {
  log_position position = 0;
  timestamp at;
  limit_address limit;
  /// Empty: the limit was removed.
  std::optional<limit_definition> definition{};
};

/// The stored state of a limit key.
struct limit_key_mark {
  limit_address limit;
  std::string key{};
  /// In nanoseconds of shard time, as `rate_meter::paid_at`.
  std::int64_t paid_at = 0;
  timestamp closed_until{};
  /// Neither matters any more: nothing is stored.
  bool is_over = false;
};

/// The starts and closures of a turn.
struct limit_keys_changed {
  log_position position = 0;
  timestamp at;
  std::vector<limit_key_mark> keys;
  /// When set: the burst of every key counted as used at that time.
  timestamp used_up_at{};
};

/// The ready tasks of this shard that name a limit key.
struct limit_key_forecast {
  std::string key{};
  std::uint64_t tasks = 0;
  /// Number of tasks of cost 1 that could start at once by the new definition; empty when the key
  /// is another shard's.
  std::optional<std::uint64_t> room{};
};

/// Answers a request about limits: as of after it, on this shard.
struct limits_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  /// An error when nothing was done.
  result<void> allowed{};
  std::vector<limit_info> limits{};
  std::vector<limit_key_info> keys{};
  /// Further limits or keys follow the last one.
  bool more = false;
  /// A dry run lists the keys that ready tasks name, and those in use that this shard owns.
  std::vector<limit_key_forecast> waiting{};
  /// `waiting` has all of them.
  bool has_all_waiting = false;
  /// With keys: the limit has a rate, and its tenant uses as many keys as it may on this shard.
  /// Tasks of other shards get no permits of a further key.
  bool is_out_of_keys = false;
};

/// A permit that another shard wants was refused because of that. For log and metrics.
struct limit_keys_met {
  std::string tenant;
};

} // namespace codeq::core
