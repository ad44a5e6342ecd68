// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <cstdint>

/// The change to a higher epoch when a shard has nearly used up the numbers of its epoch, which
/// takes six days at a million per second. The store records the new epoch first, so that no start
/// can use its numbers again.
namespace codeq::core {

/// True when so few tokens, sequences or positions are left that another epoch should begin. The
/// rest lasts for more than an hour, however long the disk takes.
[[nodiscard]] bool is_epoch_spent(const shard_state& state);

/// Takes numbers from `epoch` from now on. @pre no turn is open, since its records contain
/// consecutive numbers; `epoch` is greater than the shard's, and durable
void begin_epoch(shard_state& state, std::uint32_t epoch);

} // namespace codeq::core
