// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace codeq::core {

/// The part of `find_violations` about keys (I10 of the contract): one live task per key, and the
/// index has exactly the holders that the segments say.
void find_key_violations(const shard_state& state, std::vector<std::string>& found);

/// The part of `durable_text` about keys: who has which, and what can happen to a task by its key.
void write_keys(std::ostream& out, const shard_state& state);

} // namespace codeq::core
