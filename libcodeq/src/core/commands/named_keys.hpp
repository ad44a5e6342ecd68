// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/command.hpp"

#include <vector>

namespace codeq::core {

/// The keys that a command names.
struct named_keys {
  /// The peer that sent the command; 0: another shard.
  peer_id peer = 0;
  /// Each key once, in ascending order.
  std::vector<task_key> names;
};

/// The keys whose closed tasks may affect the command; may also contain keys of follow-ups for
/// other shards. See `recall_keys`.
[[nodiscard]] named_keys named_keys_of(const command& c);

} // namespace codeq::core
