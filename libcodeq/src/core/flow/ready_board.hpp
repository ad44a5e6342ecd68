// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/flow/fair_credit.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

/// How the shards of one process compare the first ready tasks of their parts of a queue, so that
/// priority, age and the turns of fairness keys hold over all of them. In a cluster priority and
/// age also hold over the coordinators, approximately. A shard with no board grants in its own
/// order.
namespace codeq::core {

/// The first ready task of a queue on one shard.
struct ready_head {
  std::uint8_t priority = 0;
  /// The time of the enqueue; see `time_of_turn` for a task that has its turn by its fairness key.
  timestamp enqueued_at;

  bool operator==(const ready_head&) const = default;
};

/// In place of the age of a task: the time of its fairness key's turn, see `fair_ring::time`. Fits
/// a board, and is later than all times of enqueues.
[[nodiscard]] constexpr timestamp time_of_turn(std::int64_t ring_time) noexcept {
  constexpr std::int64_t first_turn = std::int64_t{1} << 55;
  return timestamp{duration{first_turn + std::clamp<std::int64_t>(ring_time, 0, first_turn - 1)}};
}

[[nodiscard]] constexpr bool is_turn(timestamp time) noexcept {
  return time >= time_of_turn(0);
}

/// The first ready task of a queue on another shard.
struct rival_head {
  ready_head head;
  shard_id shard{};

  bool operator==(const rival_head&) const = default;
};

/// True when the rival's task comes before a task like `own`.
[[nodiscard]] constexpr bool is_outranked(const ready_head& own, const ready_head& rival) noexcept {
  if (own.priority != rival.priority)
    return own.priority < rival.priority;
  // The age of a task says nothing about whose turn it is.
  if (is_turn(own.enqueued_at) != is_turn(rival.enqueued_at))
    return false;
  return rival.enqueued_at + rival_age_margin < own.enqueued_at;
}

/// The same for a rival at another coordinator, whose clock may differ and whose fairness keys take
/// turns of their own.
[[nodiscard]] constexpr bool
is_outranked_from_afar(const ready_head& own, const ready_head& rival) noexcept {
  if (own.priority != rival.priority)
    return own.priority < rival.priority;
  if (is_turn(own.enqueued_at) || is_turn(rival.enqueued_at))
    return false;
  return rival.enqueued_at + far_rival_age_margin < own.enqueued_at;
}

/// The first ready task of a queue on one shard that has its turn by its fairness key.
struct shown_turn {
  ready_head head;
  /// The credit of the only group at the shard: the turn comes as much later as other shards give
  /// to the credit meanwhile. Null when there are several groups.
  std::shared_ptr<const shared_credit> only{};
  /// Set when the keys of all groups wait for other shards: none comes next while this one waits.
  waiting_ring waits{};
};

/// One shard's entry for one queue on the board. The destructor withdraws the shard's task.
class queue_board {
public:
  virtual ~queue_board() = default;

  /// Shows the shard's first ready task to the other shards; empty when none may be granted.
  virtual void publish(const std::optional<ready_head>& head) = 0;

  /// Shows a task that has its turn by its fairness key.
  virtual void publish_turn(shown_turn turn) = 0;

  /// The credits of a fairness key at that priority, which the shards share. The caller keeps them
  /// for as long as the key has ready tasks here.
  [[nodiscard]] virtual key_credits
  share_turns(std::size_t priority, std::string_view key) = 0;

  /// True once a shard has shared turns of the queue.
  [[nodiscard]] virtual bool has_turns() const = 0;

  /// The task of another shard of the process that comes before all others; empty when there is
  /// none.
  [[nodiscard]] virtual std::optional<rival_head> best_elsewhere() const = 0;

  /// The same of the shards that other coordinators serve, as they told last.
  [[nodiscard]] virtual std::optional<rival_head> best_far() const = 0;
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
