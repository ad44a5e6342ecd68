// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/limit_command.hpp"
#include "core/state/shard_state.hpp"

namespace codeq::core {

/// Says in the answer, for the limit's keys, how many ready tasks of this shard name each, and how
/// many of a key of this shard could start at once by the definition. Knows all that the limit
/// holds back; looks for others in at most `limits::limit_forecast_seen_max` segments, the oldest
/// ones. Names at most `limits::limits_page_max` keys, those with most tasks first.
void forecast_limit(
  limits_answered& answer,
  const shard_state& state,
  const limit_address& limit,
  const limit_definition& definition);

} // namespace codeq::core
