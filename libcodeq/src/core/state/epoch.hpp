// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <cstdint>

/// What a shard does when it has given nearly all numbers of an epoch, which at a million a second
/// takes six days: it goes on in a higher one. The store remembers that one first, so that no start
/// can give its numbers again.
namespace codeq::core {

/// True when so few tokens, sequences or positions are left that another epoch is to be begun. What
/// is left lasts for more than an hour, however long the disk takes.
[[nodiscard]] bool is_epoch_spent(const shard_state& state);

/// Takes numbers of `epoch` from here on. @pre no turn is open: its records hold consecutive
/// numbers; `epoch` is above the shard's, and durable.
void begin_epoch(shard_state& state, std::uint32_t epoch);

} // namespace codeq::core
