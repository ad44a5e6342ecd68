// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace codeq::core {

/// The part of `find_violations` about keys (I10 of the contract): each key has one live task, and
/// the index has exactly the holders given by the segments.
void find_key_violations(const shard_state& state, std::vector<std::string>& found);

/// The part of `durable_text` about keys: which task has which key, and the changes that are
/// possible by key.
void write_keys(std::ostream& out, const shard_state& state);

} // namespace codeq::core
