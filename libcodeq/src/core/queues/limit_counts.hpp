// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/limit_command.hpp"
#include "core/state/shard_state.hpp"

#include <string>
#include <vector>

/// The limits of a shard and their keys, for operators. A waiting task is counted by its own shard.
/// The shard that owns its limit key does not count it again as a wanted permit.
namespace codeq::core {

/// A limit with its counts. @pre it is defined
[[nodiscard]] limit_info count_limit(const shard_state& state, const limit_address& limit);

/// The limits of a tenant, as `limit_table::list`.
[[nodiscard]] std::vector<limit_info> count_limits(
  const shard_state& state, const std::string& tenant, const limit_part& part, bool& more);

/// A key that this shard owns, as `limit_table::describe_key`.
[[nodiscard]] limit_key_info
count_limit_key(const shard_state& state, const limit_address& limit, const std::string& key);

/// The keys of a limit, as `limit_table::list_keys`, and those of other shards for whose permits
/// tasks of this one wait.
[[nodiscard]] std::vector<limit_key_info> count_limit_keys(
  const shard_state& state,
  const limit_address& limit,
  const limit_part& part,
  bool only_busy,
  bool& more);

} // namespace codeq::core
