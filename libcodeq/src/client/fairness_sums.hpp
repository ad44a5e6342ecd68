// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/queue.hpp"

#include "client/operator_replies.hpp"
#include "core/commands/operator_command.hpp"

#include <cstddef>
#include <vector>

/// The fairness keys of a queue over all shards, given what each shard says of its own; pure.
namespace codeq::client {

/// Asks a shard for all its keys, as far as one answer has room for them.
[[nodiscard]] core::fairness_part all_fairness_keys();

/// True when the answers to that contain all keys of all shards.
[[nodiscard]] bool has_all_keys(const std::vector<queue_part>& parts);

/// The keys of the whole queue that are `wanted`. A share is that of the key among all keys with
/// ready tasks, and a wait is until its turn among them: the weights of the others and their
/// number, times the longest expected run time, by all leases. Where shards do not say how their
/// slots are used, or one has all live tasks, waits are the longest of a shard.
/// @pre has_all_keys(parts)
[[nodiscard]] fairness_page merge_fairness(
  queue_address queue,
  const std::vector<queue_part>& parts,
  const core::fairness_part& wanted);

/// The first `limit` keys of a queue that has too many for that, given those of its parts. Shares
/// are the mean of those on the shards that have keys, and waits the longest of a shard.
[[nodiscard]] fairness_page merge_fairness_pages(
  queue_address queue, const std::vector<queue_part>& parts, std::size_t limit);

} // namespace codeq::client
