// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <memory>
#include <optional>

/// How the shards of one process compare the first ready tasks of their parts of a queue, so that
/// priority and age hold over all of them. A shard with no board grants in its own order.
namespace codeq::core {

/// The first ready task of a queue on one shard.
struct ready_head {
  std::uint8_t priority = 0;
  /// `ageless` for a task that has its turn by its fairness key.
  timestamp enqueued_at;

  bool operator==(const ready_head&) const = default;
};

/// The time of a task whose age does not count. The last one that a board can show.
inline constexpr timestamp ageless{duration{(std::int64_t{1} << 56) - 1}};

/// The first ready task of a queue on another shard.
struct rival_head {
  ready_head head;
  shard_id shard{};
};

/// By so much a task must be older to come before a task of the same priority on another shard.
inline constexpr duration rival_age_margin{1000};

/// True when the rival's task comes before a task like `own`.
[[nodiscard]] constexpr bool is_outranked(const ready_head& own, const ready_head& rival) noexcept {
  if (own.priority != rival.priority)
    return own.priority < rival.priority;
  // The age of another key's task says nothing about whose turn it is.
  if (own.enqueued_at == ageless || rival.enqueued_at == ageless)
    return false;
  return rival.enqueued_at + rival_age_margin < own.enqueued_at;
}

/// One shard's entry for one queue on the board. The destructor withdraws the shard's task.
class queue_board {
public:
  virtual ~queue_board() = default;

  /// Shows the shard's first ready task to the other shards; empty when none may be granted.
  virtual void publish(const std::optional<ready_head>& head) = 0;

  /// The task of another shard that comes before all others; empty when there is none.
  [[nodiscard]] virtual std::optional<rival_head> best_elsewhere() const = 0;
};

/// The first ready tasks of all queues on all shards of the process.
class ready_board {
public:
  virtual ~ready_board() = default;

  /// Adds the shard's entry for the queue.
  [[nodiscard]] virtual std::unique_ptr<queue_board>
  join(const queue_address& queue, shard_id shard) = 0;
};

} // namespace codeq::core
