// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/effect.hpp"
#include "core/state/shard_state.hpp"

namespace codeq::core {

/// The description for a worker of consecutive leased tasks of one segment under consecutive
/// tokens.
[[nodiscard]] granted_run describe_run(
  shard_state& state,
  const segment& s,
  const seq_run& tasks,
  fencing_token first_token,
  duration lease);

} // namespace codeq::core
