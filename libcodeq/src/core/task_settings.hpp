// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/task.hpp"

#include <cstdint>

namespace codeq::core {

/// What a dead task does to its group. Stored on disk, never renumber.
enum class on_dead : std::uint8_t { skip = 0, block = 1 };

/// What all tasks of a segment share. Small enough to copy; interned per shard in memory.
struct task_settings {
  std::uint16_t max_attempts = limits::attempts_default;
  retry_policy retry{};
  duration lease = limits::lease_default;
  duration run_timeout{0};
  duration progress_timeout{0};
  duration retention = limits::retention_completed_default;
  /// Zero keeps dead tasks until they are purged.
  duration dead_retention{0};
  on_dead when_dead = on_dead::skip;

  friend bool operator==(const task_settings&, const task_settings&) = default;
};

} // namespace codeq::core
