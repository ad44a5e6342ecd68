// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/command.hpp"

#include <vector>

namespace codeq::core {

/// The keys that a command names.
struct named_keys {
  /// Who gave the command; 0 when it was another shard.
  peer_id peer = 0;
  /// Each once, ascending.
  std::vector<task_key> names;
};

/// The keys whose closed tasks may matter to the command, and perhaps those of follow-ups that are
/// for other shards; see `recall_keys`.
[[nodiscard]] named_keys named_keys_of(const command& c);

} // namespace codeq::core
