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

/// A task is large: it is moved from list to list as it is.
using waiting_list = std::list<waiting_task>;

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

  waiting_tasks(const waiting_tasks&) = delete;
  waiting_tasks& operator=(const waiting_tasks&) = delete;

  /// The weight of a queue; 1 unless told.
  void set_weight(const std::string& queue, unsigned weight) { lane_of(queue).weight = weight; }

  void add(const lease_key& key, task&& received);

  /// How many of the queue wait, lost ones among them that were not dropped yet.
  [[nodiscard]] std::size_t count(const std::string& queue) const {
    auto found = lanes_.find(queue);
    return found == lanes_.end() ? 0 : found->second.size;
  }

  /// What is to start next: tasks of one queue, at most as many as have room together. Empty when
  /// nothing may start.
  [[nodiscard]] waiting_list take_next();

  /// Everything that waits.
  [[nodiscard]] waiting_list take_all();

private:
  struct lane {
    std::string queue;
    unsigned weight = 1;
    /// Counts starts over the weight: the lane with the smallest is next.
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
  /// Puts a lane of which so many started where it is next. Returns the one behind its old place.
  lane_set::iterator pass_on(lane_set::iterator at, std::size_t started);

  rules rules_;
  std::unordered_map<std::string, lane> lanes_;
  /// Those that have tasks, in the order in which they are next.
  lane_set listed_;
  /// Where the latest start was: a lane that was empty does not make up for it.
  std::uint64_t pass_ = 0;
};

} // namespace codeq::worker
