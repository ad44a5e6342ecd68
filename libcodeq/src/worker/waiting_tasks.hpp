// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/limits.hpp"

#include "worker/lease_key.hpp"

#include <array>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::worker {

struct waiting_task {
  lease_key key;
  task attempt;
};

/// The tasks that this node has and has not begun. Pure. Within a queue they go by priority and
/// order of arrival; among queues each gets starts in proportion to its weight, as long as it has
/// tasks and may start them.
class waiting_tasks {
public:
  /// What may start now.
  struct rules {
    /// How many tasks of that queue may start together; 0 is none.
    std::function<std::size_t(const std::string& queue)> room;
    /// False for a task whose lease is gone; it is dropped.
    std::function<bool(const lease_key& key)> is_held;
    /// False for one that has to wait for another of its group.
    std::function<bool(const task& attempt)> may_start;
  };

  explicit waiting_tasks(rules given) : rules_(std::move(given)) {}

  /// The weight of a queue; 1 unless told.
  void set_weight(const std::string& queue, unsigned weight) { lanes_[queue].weight = weight; }

  void add(waiting_task task);

  /// How many of the queue wait, lost ones among them that were not dropped yet.
  [[nodiscard]] std::size_t count(const std::string& queue) const {
    auto found = lanes_.find(queue);
    return found == lanes_.end() ? 0 : found->second.size;
  }

  /// What is to start next: tasks of one queue, at most as many as have room together. Empty when
  /// nothing may start.
  [[nodiscard]] std::vector<waiting_task> take_next();

  /// Everything that waits, or all of one queue.
  [[nodiscard]] std::vector<waiting_task> take_all();
  [[nodiscard]] std::vector<waiting_task> take_all(const std::string& queue);

private:
  struct lane {
    unsigned weight = 1;
    /// Counts starts over the weight: the lane with the smallest is next.
    std::uint64_t pass = 0;
    std::array<std::deque<waiting_task>, limits::priority_max + 1> tasks;
    std::size_t size = 0;
    bool listed = false;
  };

  void list(const std::string& queue, lane& of);
  void take_from(lane& from, std::size_t count, std::vector<waiting_task>& to);
  void
  take_some(lane& from, std::size_t priority, std::size_t count, std::vector<waiting_task>& to);

  rules rules_;
  std::unordered_map<std::string, lane> lanes_;
  /// The queues that have tasks, in the order in which they are next.
  std::set<std::pair<std::uint64_t, std::string>> waiting_;
  /// Where the latest start was: a lane that was empty does not make up for it.
  std::uint64_t pass_ = 0;
};

} // namespace codeq::worker
