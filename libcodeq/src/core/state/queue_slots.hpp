// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <cstdint>

/// The slots of queues with a maximum of leases, which is exact over all shards: the shard that
/// owns a queue's slots counts its own leases and those that it has lent; another shard leases with
/// slots that it was lent. Until permits are used a shard counts its own leases only.
namespace codeq::core {

/// The queue is new on this shard, or permits are used from now on.
void join_slots(shard_state& state, std::uint32_t index);

/// The queue has another maximum than before.
void change_maximum(shard_state& state, std::uint32_t index, std::uint64_t before);

/// A lease of the queue begins.
void spend_slot(shard_state& state, std::uint32_t index);

/// A lease of the queue ended.
void end_slot(shard_state& state, std::uint32_t index);

/// The shard has asked the owner for slots of the queue, and waits for them.
[[nodiscard]] bool awaits_slots(const shard_state& state, const queue_state& queue);

/// Notes how many slots the queues have for which that has changed without a lease.
void take_changed_slots(shard_state& state);

} // namespace codeq::core
