// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/time.hpp"

#include "base/queue_pattern.hpp"
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

/// Number of a started handler; never reused.
using handler_number = std::uint64_t;

/// A queue that this node serves, or a pattern: its options then hold for each queue that it
/// matches.
struct served_queue {
  std::string queue;
  /// Maximum number of its running tasks; 0: as many as the node has slots.
  std::size_t slots = 0;
  unsigned weight = 1;
  /// True when a handler runs up to `batch_max` tasks together; false when it runs one at a time.
  bool takes_batches = false;
  std::size_t batch_max = 1;
  /// Idle time after which a handler of a keyed queue ends; empty for other queues.
  std::optional<duration> idle{};
  /// The argument of `start_function`: the name or pattern that the handler is registered for;
  /// empty: `queue`.
  std::string handler{};
  /// Where its handlers run. When it changes, those that were started before are retired.
  isolation run_in = isolation::shared;
};

/// How the queue of a registered handler is served.
[[nodiscard]] served_queue served_by(const handler_registry::entry& handler);

/// The handlers of a node and their tasks. Each handler runs one task, or one batch, at a time; at
/// most `slots` tasks run in total, and of each queue at most its own slots. A handler is started
/// when first needed and kept for its queue, or for all queues of its pattern, so there may be up
/// to `slots` idle ones for each of these, and up to `limits::keyed_actors_max` for a keyed queue.
/// Pure: starts handlers through a function and never ends one itself.
class slot_pool {
public:
  /// Starts a handler, for that group if the queue is keyed; returns its number.
  using start_function =
    std::function<handler_number(const std::string& handler, const std::string& group)>;

  /// @pre the names of `queues` are different
  slot_pool(
    const std::vector<served_queue>& queues, std::size_t slots, start_function start_handler);

  /// Changes queues and slots. Queues that are no longer served start nothing more; handlers of the
  /// remaining queues are kept until `retire` is called for them.
  void configure(const std::vector<served_queue>& queues, std::size_t slots);

  [[nodiscard]] bool handles(const std::string& queue) const;

  /// Serves a queue that a pattern matches, from now on; the longest one decides. False when none
  /// does. @pre the queue is not handled
  bool adopt(const std::string& queue);

  /// True when the queue is served because of a pattern.
  [[nodiscard]] bool is_adopted(const std::string& queue) const;

  /// Number of queues that were adopted and not forgotten.
  [[nodiscard]] std::size_t adopted() const noexcept { return adopted_; }

  /// Forgets an adopted queue, unless something of it runs or its handlers keep state.
  bool forget(const std::string& queue);

  /// The names of all queues, including adopted ones, in no particular order.
  [[nodiscard]] std::vector<std::string> queues() const;

  /// The patterns, as they were given.
  [[nodiscard]] std::vector<std::string> patterns() const;

  [[nodiscard]] unsigned weight_of(const std::string& queue) const {
    return queues_.at(queue).served.weight;
  }

  /// Maximum number of running tasks of the queue.
  [[nodiscard]] std::size_t slots_of(const std::string& queue) const;

  /// Number of tasks of the queue that may start together now.
  [[nodiscard]] std::size_t room(const std::string& queue) const;

  /// False while the handler of the task's group is still running another task, whose lease was
  /// lost.
  [[nodiscard]] bool may_start(const task& attempt) const;

  [[nodiscard]] std::size_t running_of(const std::string& queue) const;

  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }

  [[nodiscard]] std::size_t running() const noexcept { return running_; }

  /// The handler that runs the started tasks.
  struct started {
    handler_number handler = 0;
    /// The handler takes a batch, not a single task.
    bool is_batch = false;
  };

  /// Chooses or starts a handler for these tasks. @pre they are of one queue, at least one, and not
  /// more than there is room for
  [[nodiscard]] started start(const waiting_list& together);

  /// The handler has answered and is free again. Returns the leases that it ran, which are valid
  /// until the pool changes again; empty when the handler is unknown or ran nothing.
  [[nodiscard]] std::span<const lease_key> finish(handler_number handler, monotonic_time now);

  /// The handler has ended; another is started when needed. Returns the leases that it ran.
  [[nodiscard]] std::vector<lease_key> remove(handler_number handler);

  /// Removes the handler if it is idle and was started for another isolation than its queue has
  /// now; true: end it. To be called for all handlers after `configure`, and for one after
  /// `finish`.
  [[nodiscard]] bool retire(handler_number handler);

  /// When the handler ends if it stays idle from `now` on: at once if its queue has too many
  /// handlers; never (the maximum time) if it is not keyed.
  [[nodiscard]] monotonic_time passivated_at(handler_number handler, monotonic_time now) const;

  struct passivated {
    /// Handlers to end; the pool has removed them.
    std::vector<handler_number> over;
    /// When the next one ends; the maximum time when none is idle.
    monotonic_time next;
  };

  /// Removes keyed handlers that were idle for their idle time, and all idle ones of a queue with
  /// more than `limits::keyed_actors_max`.
  [[nodiscard]] passivated passivate(monotonic_time now);

  /// All handlers, including those that run something.
  [[nodiscard]] std::vector<handler_number> handlers() const;

private:
  /// The handlers of a name or pattern that were registered, without those of keyed queues.
  struct handler_kind {
    isolation run_in = isolation::shared;
    std::vector<handler_number> idle;
  };

  struct queue_slots {
    served_queue served;
    handler_kind* kind = nullptr;
    bool is_handled = true;
    bool is_adopted = false;
    std::size_t running = 0;
    /// For a keyed queue: the handler of each group.
    std::unordered_map<std::string, handler_number> keyed;
  };

  struct slot {
    handler_kind* kind = nullptr;
    /// The queue of the current or latest run. Valid while the slot runs or has a group.
    queue_slots* queue = nullptr;
    std::string group;
    /// Where the handler was started.
    isolation run_in = isolation::shared;
    bool is_running = false;
    /// Leases of the current or latest run.
    std::vector<lease_key> leases;
    monotonic_time idle_since{};
  };

  [[nodiscard]] std::size_t slots_of(const queue_slots& of_queue) const;
  [[nodiscard]] handler_number find_or_start(queue_slots& of_queue, const std::string& group);
  void let_go(handler_number handler);
  void serve(const std::string& queue, served_queue served, bool is_adopted);
  /// How the queue is served because of a pattern; null when none matches it.
  [[nodiscard]] const served_queue* find_pattern(const std::string& queue) const;

  start_function start_handler_;
  std::unordered_map<std::string, queue_slots> queues_;
  /// By `served_queue::handler`.
  std::unordered_map<std::string, handler_kind> kinds_;
  std::vector<base::queue_pattern> patterns_;
  /// One for each pattern.
  std::vector<served_queue> served_patterns_;
  std::size_t adopted_ = 0;
  std::unordered_map<handler_number, slot> slots_by_number_;
  std::size_t slots_;
  std::size_t running_ = 0;
};

} // namespace codeq::worker
