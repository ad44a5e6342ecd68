// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/task.hpp"

#include <cstdint>

namespace codeq::core {

/// What all tasks of a segment share. Small enough to copy; interned per shard in memory.
struct task_settings {
  std::uint16_t max_attempts = limits::attempts_default;
  retry_policy retry{};
  /// Zero leaves it to the queue, as it is when the task is granted.
  duration lease = limits::lease_default;
  duration run_timeout{0};
  duration progress_timeout{0};
  duration retention = limits::retention_completed_default;
  /// Zero keeps dead tasks until they are purged.
  duration dead_retention{0};
  on_dead when_dead = on_dead::skip;

  friend bool operator==(const task_settings&, const task_settings&) = default;
};

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

/// What a queue gives its tasks and how much it takes. Limits count per shard of the queue.
struct queue_settings {
  /// For the fields that a producer leaves to the queue.
  task_settings defaults{};
  /// Live tasks at most; 0 is no limit. An enqueue beyond it is refused whole with `queue_full`.
  std::uint64_t max_depth = 0;
  /// Leases at the same time at most; 0 is no limit.
  std::uint64_t max_leased = 0;
  /// Keeps the payload of a completed task as long as its record.
  bool keep_payload = false;
  /// Nothing is handed out; everything else goes on.
  bool paused = false;

  friend bool operator==(const queue_settings&, const queue_settings&) = default;
};

} // namespace codeq::core
