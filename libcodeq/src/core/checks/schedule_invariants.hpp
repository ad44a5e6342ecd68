// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace codeq::core {

/// The part of `find_violations` about schedules: the index has the open occurrences, and no
/// occurrence is numbered beyond the history.
void find_schedule_violations(const shard_state& state, std::vector<std::string>& found);

/// The part of `durable_text` about schedules.
void write_schedules(std::ostream& out, const shard_state& state);

} // namespace codeq::core
