// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <string>
#include <vector>

namespace codeq::core {

/// Checks the invariants of a shard's memory (I2, I3, I6..I10 of the contract) and describes those
/// that are violated. Linear in the state; for tests, simulation and offline checks.
[[nodiscard]] std::vector<std::string> find_violations(const shard_state& state);

/// A text of everything durable in the state, equal for equal states: this is what recovery must
/// rebuild. A due task counts as ready.
[[nodiscard]] std::string durable_text(const shard_state& state);

} // namespace codeq::core
