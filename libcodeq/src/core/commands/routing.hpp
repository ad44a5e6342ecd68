// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace codeq::core {

/// The shard of an enqueue request without keys and groups. It depends on the request alone, so
/// that a repeat goes to the shard that may have decided it; consecutive requests rotate over the
/// shards. @pre shard_count > 0
[[nodiscard]] constexpr shard_id shard_of_request(
  const producer_id& producer, std::uint64_t number, std::uint16_t shard_count) noexcept {
  return static_cast<shard_id>((producer.low + number) % shard_count);
}

/// The shard of a task with a group or a key; `name` is the group, or else the key. Fixed for ever,
/// since it determines where a key's record is: FNV-1a (64 bits) over tenant, queue and name, with
/// a zero byte after the first two, folded by the finaliser of MurmurHash3. @pre shard_count > 0
[[nodiscard]] shard_id shard_of_name(
  const queue_address& queue, std::string_view name, std::uint16_t shard_count) noexcept;

/// The shard that owns a limit key. Fixed for ever, since it has the key's starts: as above, over
/// tenant, name of the limit and key, begun with a byte that no tenant has. @pre shard_count > 0
[[nodiscard]] shard_id shard_of_limit_key(
  std::string_view tenant, const task_limit& use, std::uint16_t shard_count) noexcept;

/// The shard that a task has to be on: that of its group or key, else that of its first limit's
/// key; empty when it has none of these. @pre shard_count > 0
[[nodiscard]] std::optional<shard_id> shard_of_task(
  const queue_address& queue,
  std::string_view name,
  const std::vector<task_limit>& limits,
  std::uint16_t shard_count) noexcept;

/// The shard that a follow-up of a task of the shard `own` belongs to. @pre shard_count > 0
[[nodiscard]] shard_id
shard_of_follow_up(const enqueue_run& run, shard_id own, std::uint16_t shard_count) noexcept;

/// The producer session that a shard uses to send follow-ups to others.
[[nodiscard]] constexpr producer_id producer_of(shard_id shard) noexcept {
  return {0, value(shard)};
}

} // namespace codeq::core
