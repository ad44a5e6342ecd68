// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/limits.hpp"

#include "worker/node/lease_key.hpp"

#include <array>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace codeq::worker {

struct waiting_task {
  waiting_task(const lease_key& of, task&& received) : key(of), attempt(std::move(received)) {}

  lease_key key;
  task attempt;
};

/// A list, because a task is large and is moved between lists by splicing.
using waiting_list = std::list<waiting_task>;

/// The tasks that wait to be started on this node. Pure. Within a queue they start by priority and
/// order of arrival; each queue gets starts in proportion to its weight, as long as it has tasks
/// that may start.
class waiting_tasks {
public:
  /// Functions that decide which tasks may start now.
  struct rules {
    /// Number of tasks of that queue that may start together; 0: none.
    std::function<std::size_t(const std::string& queue)> room;
    /// False for a task whose lease was lost; it is dropped.
    std::function<bool(const lease_key& key)> is_held;
    /// False for a task that has to wait for another task of its group.
    std::function<bool(const task& attempt)> may_start;
  };

  explicit waiting_tasks(rules given) : rules_(std::move(given)) {}

  waiting_tasks(const waiting_tasks&) = delete;
  waiting_tasks& operator=(const waiting_tasks&) = delete;

  /// Sets the weight of a queue; the default is 1.
  void set_weight(const std::string& queue, unsigned weight) { lane_of(queue).weight = weight; }

  /// Forgets the weight of a queue without waiting tasks.
  void forget(const std::string& queue);

  void add(const lease_key& key, task&& received);

  /// Number of waiting tasks of the queue, including those whose lease was lost and that are not
  /// dropped yet.
  [[nodiscard]] std::size_t count(const std::string& queue) const {
    auto found = lanes_.find(queue);
    return found == lanes_.end() ? 0 : found->second.size;
  }

  /// Removes the tasks to start next: tasks of one queue, at most as many as there is room for.
  /// Empty when nothing may start.
  [[nodiscard]] waiting_list take_next();

  /// Drops the tasks whose lease was lost.
  void drop_lost();

  /// Removes all waiting tasks.
  [[nodiscard]] waiting_list take_all();

private:
  struct lane {
    std::string queue;
    unsigned weight = 1;
    /// Number of starts divided by the weight; the lane with the smallest value is next.
    std::uint64_t pass = 0;
    std::array<waiting_list, limits::priority_max + 1> tasks;
    std::size_t size = 0;
    bool is_listed = false;
  };

  struct is_sooner {
    bool operator()(const lane* a, const lane* b) const {
      return std::tie(a->pass, a->queue) < std::tie(b->pass, b->queue);
    }
  };

  using lane_set = std::set<lane*, is_sooner>;

  lane& lane_of(const std::string& queue);
  void take_from(lane& from, std::size_t count, waiting_list& to);
  void take_some(lane& from, std::size_t priority, std::size_t count, waiting_list& to);
  /// Advances the pass of a lane after `started` starts and reinserts it. Returns the lane after
  /// its old position.
  lane_set::iterator pass_on(lane_set::iterator at, std::size_t started);

  rules rules_;
  std::unordered_map<std::string, lane> lanes_;
  /// The lanes with tasks, in the order of their passes.
  lane_set listed_;
  /// The pass of the latest start; a lane that was empty starts from here, so that it has no
  /// credit.
  std::uint64_t pass_ = 0;
};

} // namespace codeq::worker
