// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "worker/node/lease_key.hpp"
#include "worker/node/waiting_tasks.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

/// Names a handler that was started; never given to another.
using handler_number = std::uint64_t;

/// A queue that this node works on.
struct served_queue {
  std::string queue;
  /// Tasks of it that run at once; 0 is as many as the node has slots.
  std::size_t slots = 0;
  unsigned weight = 1;
  /// Each of its handlers takes up to `batch_max` tasks together; else it takes one.
  bool takes_batches = false;
  std::size_t batch_max = 1;
  /// Of a queue whose handlers live for one group each: when one without a task ends.
  std::optional<duration> idle{};
};

/// Which handlers there are and what they run: each runs one task, or one batch, at a time; at most
/// `slots` tasks run together, and of a queue at most its own slots. Handlers are started when
/// first needed and kept per queue, since a handler belongs to its queue; so there may be up to
/// `slots` idle ones for every queue, and for a keyed queue `limits::keyed_actors_max`. Pure:
/// starts a handler by the function that it was given, and ends none itself.
class slot_pool {
public:
  /// Starts a handler of the queue, of a keyed queue for that group; returns its number.
  using start_function =
    std::function<handler_number(const std::string& queue, const std::string& group)>;

  /// @pre no two of `queues` have one name.
  slot_pool(
    const std::vector<served_queue>& queues, std::size_t slots, start_function start_handler);

  /// Other queues and slots from here on. Queues that are gone start nothing more; the handlers of
  /// queues that stay stay as they are.
  void configure(const std::vector<served_queue>& queues, std::size_t slots);

  [[nodiscard]] bool handles(const std::string& queue) const;

  /// The names of all queues, in no order.
  [[nodiscard]] std::vector<std::string> queues() const;

  /// Tasks of the queue that may run at once.
  [[nodiscard]] std::size_t slots_of(const std::string& queue) const;

  /// How many tasks of the queue may start together now.
  [[nodiscard]] std::size_t room(const std::string& queue) const;

  /// False while the handler of the task's group is still busy with another, whose lease is lost.
  [[nodiscard]] bool may_start(const task& attempt) const;

  [[nodiscard]] std::size_t running_of(const std::string& queue) const;

  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }

  [[nodiscard]] std::size_t running() const noexcept { return running_; }

  /// Who runs what was started.
  struct started {
    handler_number handler = 0;
    /// It takes a batch, not a task.
    bool is_batch = false;
  };

  /// The handler that is to run these tasks.
  /// @pre of one queue, at least one and as many as there is room for
  [[nodiscard]] started start(const waiting_list& together);

  /// The handler answered and is free again: the leases that it ran, valid until the pool changes
  /// again. Empty when it is not known or ran nothing.
  [[nodiscard]] std::span<const lease_key> finish(handler_number handler, monotonic_time now);

  /// The handler is gone and another is started when needed: the leases that it ran.
  [[nodiscard]] std::vector<lease_key> remove(handler_number handler);

  /// When this handler ends if it stays idle from `now` on: at once when its queue has too many,
  /// at the latest time when it does not live for a group.
  [[nodiscard]] monotonic_time passivated_at(handler_number handler, monotonic_time now) const;

  struct passivated {
    /// To be ended; forgotten here.
    std::vector<handler_number> over;
    /// When the next one will be, or the latest time when none is idle.
    monotonic_time next;
  };

  /// Takes out keyed handlers that had nothing to do for their time, and all idle ones of a queue
  /// with more than `limits::keyed_actors_max`.
  [[nodiscard]] passivated passivate(monotonic_time now);

  /// All handlers, also those that run something.
  [[nodiscard]] std::vector<handler_number> handlers() const;

private:
  struct queue_slots {
    served_queue served;
    bool is_handled = true;
    std::size_t running = 0;
    std::vector<handler_number> idle;
    /// Of a keyed queue: the handler of each group.
    std::unordered_map<std::string, handler_number> keyed;
  };

  struct slot {
    queue_slots* queue = nullptr;
    std::string group;
    bool is_running = false;
    /// What it runs, or ran last.
    std::vector<lease_key> leases;
    monotonic_time idle_since{};
  };

  [[nodiscard]] std::size_t slots_of(const queue_slots& of_queue) const;
  [[nodiscard]] handler_number find_or_start(queue_slots& of_queue, const std::string& group);
  void let_go(handler_number handler);

  start_function start_handler_;
  std::unordered_map<std::string, queue_slots> queues_;
  std::unordered_map<handler_number, slot> slots_by_number_;
  std::size_t slots_;
  std::size_t running_ = 0;
};

} // namespace codeq::worker
