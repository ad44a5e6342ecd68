// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/flow/held_tasks.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace codeq::core {

/// The tasks of a shard that wait to be asked for, because they need permits of the same limit keys
/// of another shard: a higher priority first, then queues in turns, then fairness keys of the queue
/// in turns, then the older one. Idle queues have no turns. Costs are logarithmic in the numbers of
/// queues and tasks.
class permit_line {
public:
  /// @pre it does not wait
  void insert(std::uint32_t queue, const held_task& task);

  /// @pre it waits
  void erase(std::uint32_t queue, const held_task& task);

  /// Nothing of the queue can be leased now: its tasks keep their places, and none of them comes
  /// next. Lasts until the queue has no task here. Does nothing when it has none.
  void set_idle(std::uint32_t queue, bool is_idle);

  [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }

  /// Tasks of queues that are not idle wait.
  [[nodiscard]] bool has_next() const noexcept { return !order_.empty(); }

  /// The highest priority of such a task. @pre has_next()
  [[nodiscard]] std::uint8_t next_priority() const;

  /// Tasks of different fairness keys wait in queues that are not idle.
  [[nodiscard]] bool has_turns() const noexcept { return keys_ > order_.size(); }

  /// Number of fairness keys of the waiting tasks with the highest priority of each such queue.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_; }

  struct taken {
    sequence seq = 0;
    /// As `held_turns::taken::charged`.
    std::int64_t charged = 0;
  };

  /// Removes the task that comes next. @pre has_next()
  taken take_next(const fair_terms_of& terms_of);

  /// A task that was taken waits again: its fairness key gets its turn back.
  void give_turn_back(std::uint32_t queue, const held_task& task, std::int64_t charged);

  /// Number of tasks that come before this one; about as many when there are turns. Counts at most
  /// `tuning::turns_counted_max` of each queue and priority one by one.
  [[nodiscard]] std::size_t
  before(std::uint32_t queue, const held_task& task, const fair_terms_of& terms_of) const;

private:
  struct part {
    held_tasks tasks;
    std::uint8_t priority = 0;
    /// 0 while the queue is idle.
    std::size_t keys = 0;
    bool is_idle = false;
  };

  /// The part of a queue has changed.
  void note(std::uint32_t queue, part& of);

  /// By the number of the queue; none of them is empty.
  std::map<std::uint32_t, part> queues_;
  /// The negated priority of the next task, and the queue; of queues that are not idle.
  std::set<std::pair<int, std::uint32_t>> order_;
  std::size_t keys_ = 0;
  /// The queue of this number or the next one has its turn.
  std::uint32_t next_queue_ = 0;
};

} // namespace codeq::core
