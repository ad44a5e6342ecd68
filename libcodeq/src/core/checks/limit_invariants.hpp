// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace codeq::core {

/// Appends what does not hold of the limits: the slots of each key are the leases of its tasks, and
/// each ready task with limits is in its lane or held by one of its keys.
void find_limit_violations(const shard_state& state, std::vector<std::string>& found);

/// Writes the durable part of the limits: definitions, and the marks of keys.
void write_limits(std::ostream& out, const shard_state& state);

} // namespace codeq::core
