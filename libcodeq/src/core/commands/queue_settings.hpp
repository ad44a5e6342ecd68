// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include <cstdint>
#include <string>

namespace codeq::core {

/// Bits for the fields of `task_settings`. On the wire, never renumber.
enum class setting_bit : std::uint16_t {
  max_attempts = 1,
  retry = 2,
  lease = 4,
  run_timeout = 8,
  progress_timeout = 16,
  /// The retention of completed and cancelled tasks, and that of dead ones.
  retention = 32,
  on_dead = 64,
  dead_retention = 128,
};

/// All bits of `setting_bit`, the last of which is `dead_retention`.
inline constexpr std::uint16_t setting_bits_all =
  2 * static_cast<std::uint16_t>(setting_bit::dead_retention) - 1;

/// The settings of a queue on a shard.
struct queue_settings {
  /// `max_depth` and `max_leased` are those of the queue over all shards; the `_part` fields beside
  /// them are for older versions, which know only those.
  queue_config config{};
  /// The queue grants no leases; all other requests are served.
  bool paused = false;
  /// See `queue_info::pause_reason`.
  std::string pause_reason{};

  friend bool operator==(const queue_settings&, const queue_settings&) = default;
};

} // namespace codeq::core
