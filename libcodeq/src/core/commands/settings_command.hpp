// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include "core/commands/queue_settings.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// In a cluster shard 0 has the settings of all queues and limits, and carries them to the others.
namespace codeq::core {

struct carried_queue {
  queue_address queue;
  /// As on each shard.
  queue_settings settings;
  /// See `queue_state::resumed_at`.
  timestamp resumed_at{};
};

struct carried_limit {
  limit_address limit;
  limit_definition definition;
};

/// A part of all settings that shard `from` has; parts come in order. With the last one they are
/// taken over: other queues have the defaults, and there are no other limits. Effect of the last
/// one: `shard_told` with `settings_adopted`.
struct adopt_settings {
  shard_id from{};
  /// Grows with each change on that shard. Parts of older ones than the latest are void.
  std::uint64_t version = 0;
  std::vector<carried_queue> queues{};
  std::vector<carried_limit> limits{};
  /// Number of the part, from 0.
  std::uint32_t part = 0;
  bool is_last = true;
};

/// Maximum number of queues and limits in one part.
inline constexpr std::size_t carried_part_max = 1000;

/// The settings of that version are in force on the shard `by`. 0: an operator's change reached it
/// after it had taken over what was carried to it, perhaps an old one, so it is to be sent them
/// again. No effect on the tasks.
struct settings_adopted {
  shard_id by{};
  std::uint64_t version = 0;
};

} // namespace codeq::core
