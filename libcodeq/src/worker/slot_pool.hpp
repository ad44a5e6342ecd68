// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "worker/lease_key.hpp"
#include "worker/waiting_tasks.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

/// The handler actors of a node: each runs one task, or one batch, at a time; at most `slots` tasks
/// run together, and of a queue at most its own slots. Actors are spawned when first needed and
/// kept per queue, since a handler belongs to its queue; so there may be up to `slots` idle ones
/// for every queue, and for a keyed queue `limits::keyed_actors_max`. Owned by the dispatcher and
/// used on its thread.
class slot_pool {
public:
  /// @pre no two entries have one queue.
  slot_pool(std::vector<handler_registry::entry> handlers, std::size_t slots);

  /// Other queues, handlers and slots from here on. Queues that are gone start nothing more; the
  /// handlers of queues that stay stay as they are.
  void configure(std::vector<handler_registry::entry> handlers, std::size_t slots);

  [[nodiscard]] bool handles(const std::string& queue) const;

  /// The names of all queues, in no order.
  [[nodiscard]] std::vector<std::string> queues() const;

  /// Tasks of the queue that may run at once.
  [[nodiscard]] std::size_t slots_of(const std::string& queue) const;

  /// How many tasks of the queue may start together now.
  [[nodiscard]] std::size_t room(const std::string& queue) const;

  /// False while the actor of the task's group is still busy with another, whose lease is lost.
  [[nodiscard]] bool may_start(const task& attempt) const;

  [[nodiscard]] std::size_t running_of(const std::string& queue) const;

  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }

  [[nodiscard]] std::size_t running() const noexcept { return running_; }

  /// Who runs what was started; valid until the pool changes.
  struct started {
    const caf::actor& handler;
    /// It takes a batch, not a task.
    bool is_batch;
  };

  /// The handler that is to run these tasks; a new one is monitored by `self`.
  /// @pre of one queue, at least one and as many as there is room for
  [[nodiscard]] started start(caf::scheduled_actor* self, const waiting_list& together);

  /// The handler behind `sender` answered and is free again: the leases that it ran, valid until
  /// the pool changes again. Empty when it is not ours or ran nothing.
  [[nodiscard]] std::span<const lease_key> finish(caf::actor_id sender, monotonic_time now);

  /// The handler is gone and another is spawned when needed: the leases that it ran.
  [[nodiscard]] std::vector<lease_key> remove(caf::actor_id handler);

  /// When this handler ends if it stays idle from `now` on: at once when its queue has too many,
  /// at the latest time when it does not live for a group.
  [[nodiscard]] monotonic_time passivated_at(caf::actor_id handler, monotonic_time now) const;

  /// Ends keyed handlers that had nothing to do for their time, and all idle ones of a queue with
  /// more than `limits::keyed_actors_max`. Returns when the next one will have, or the latest time
  /// when none is idle.
  monotonic_time passivate(monotonic_time now);

  /// Ends all handlers once they are done with what they run.
  void stop();

private:
  struct queue_slots {
    handler_registry::entry handler;
    bool is_handled = true;
    std::size_t running = 0;
    std::vector<caf::actor_id> idle;
    /// Of a keyed queue: the actor of each group.
    std::unordered_map<std::string, caf::actor_id> keyed;
  };

  struct slot {
    caf::actor handler;
    queue_slots* queue = nullptr;
    std::string group;
    bool is_running = false;
    /// What it runs, or ran last.
    std::vector<lease_key> leases;
    monotonic_time idle_since{};
  };

  [[nodiscard]] std::size_t slots_of(const queue_slots& of_queue) const;
  slot& find_or_spawn(caf::scheduled_actor* self, queue_slots& of_queue, const std::string& group);
  [[nodiscard]] static caf::actor
  spawn(caf::actor_system& system, const queue_slots& of_queue, const std::string& group);
  void let_go(caf::actor_id handler);

  std::unordered_map<std::string, queue_slots> queues_;
  std::unordered_map<caf::actor_id, slot> slots_by_id_;
  std::size_t slots_;
  std::size_t running_ = 0;
};

} // namespace codeq::worker
