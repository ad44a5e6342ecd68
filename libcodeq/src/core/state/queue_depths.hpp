// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <cstdint>

/// The room of queues with a maximum depth, which is exact over all shards: the shard that counts a
/// queue's depth books what each other shard may have; another shard has a quota. Until permits are
/// used a shard counts its own tasks only.
namespace codeq::core {

/// Permits are used from now on.
void join_depth(shard_state& state, std::uint32_t index);

/// Bookings of queues that do not exist any more are to be freed.
void abandon_depths(shard_state& state);

/// The queue has another maximum than before.
void change_depth(shard_state& state, std::uint32_t index, std::uint64_t before);

/// Tasks became live in the queue, perhaps without having asked for room.
void note_depth(shard_state& state, std::uint32_t index);

/// Another shard counts the queue's depth. @pre the queue has a maximum
[[nodiscard]] bool has_quota(const shard_state& state, std::uint32_t index);

/// Number of tasks that the queue may get now, as far as this shard knows without asking.
/// @pre as above
[[nodiscard]] std::uint64_t depth_room(const shard_state& state, std::uint32_t index);

/// This shard's tasks and those that others may have are together no more than the maximum.
/// @pre this shard counts the queue's depth
[[nodiscard]] bool is_within_maximum(const shard_state& state, std::uint32_t index);

} // namespace codeq::core
