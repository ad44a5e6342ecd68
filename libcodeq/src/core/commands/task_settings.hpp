// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include <cstdint>

namespace codeq::core {

/// Fields of `task_settings`, as bits. On the wire, never renumber.
enum class setting_bit : std::uint16_t {
  max_attempts = 1,
  retry = 2,
  lease = 4,
  run_timeout = 8,
  progress_timeout = 16,
  /// Both that of completed and cancelled tasks and that of dead ones.
  retention = 32,
  on_dead = 64,
  dead_retention = 128,
};

/// How a shard has a queue.
struct queue_settings {
  /// Its limits are those of this shard alone.
  queue_config config{};
  /// Nothing is handed out; everything else goes on.
  bool paused = false;

  friend bool operator==(const queue_settings&, const queue_settings&) = default;
};

} // namespace codeq::core
