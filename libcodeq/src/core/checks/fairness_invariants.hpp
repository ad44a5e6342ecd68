// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <string>
#include <vector>

namespace codeq::core {

/// The part of `find_violations` about fairness keys: each has as many live and ready tasks as the
/// segments say, the keys in turn are those with ready tasks and have no credit saved up, and a
/// queue without fairness keys has no order of them.
void find_fairness_violations(const shard_state& state, std::vector<std::string>& found);

} // namespace codeq::core
