// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace codeq::http {

/// Lets one request at a time read a queue's settings and write them changed; the others wait for
/// it, in order. Used from one thread, and outlives the locks.
class queue_locks {
public:
  /// Held by the request that changes the queue; the next one goes on when it is dropped.
  using lock = std::shared_ptr<void>;
  using locked_function = std::function<void(const lock&)>;

  /// Calls `locked` at once or later.
  void take(const queue_address& queue, locked_function locked) {
    auto [at, is_free] = waiting_.try_emplace(queue);
    if (is_free)
      locked(make_lock(queue));
    else
      at->second.push_back(std::move(locked));
  }

  /// Drops the requests that wait. Locks that are still held have no effect then.
  void clear() { waiting_.clear(); }

private:
  lock make_lock(const queue_address& queue) {
    return {this, [queue](queue_locks* self) { self->next(queue); }};
  }

  /// Passes the lock on. A request that drops it at once calls this function again from within the
  /// loop, which therefore does not grow the stack.
  void next(const queue_address& queue) {
    free_.push_back(queue);
    if (std::exchange(is_passing_, true))
      return;
    while (!free_.empty()) {
      auto freed = std::move(free_.front());
      free_.pop_front();
      pass_on(freed);
    }
    is_passing_ = false;
  }

  void pass_on(const queue_address& queue) {
    auto at = waiting_.find(queue);
    if (at == waiting_.end())
      return;
    if (at->second.empty()) {
      waiting_.erase(at);
      return;
    }
    auto locked = std::move(at->second.front());
    at->second.pop_front();
    locked(make_lock(queue));
  }

  /// The queues that are locked, with the requests that wait for them.
  std::map<queue_address, std::deque<locked_function>> waiting_;
  /// The queues whose locks were dropped and not passed on yet.
  std::deque<queue_address> free_;
  bool is_passing_ = false;
};

} // namespace codeq::http
