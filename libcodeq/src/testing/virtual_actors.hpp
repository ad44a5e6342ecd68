// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"

#include "worker/node/slot_pool.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace codeq::testing {

/// Handler actors on a scheduler that runs only when called, under a clock of its own. Each actor
/// runs one attempt at a time.
class virtual_actors {
public:
  struct hearer {
    /// A handler has answered its attempt.
    std::function<void(worker::handler_number, outcome)> answered;
    /// A handler has ended; the outcome contains the reason.
    std::function<void(worker::handler_number, const outcome&)> ended;
  };

  explicit virtual_actors(hearer by);
  ~virtual_actors();
  virtual_actors(const virtual_actors&) = delete;
  virtual_actors& operator=(const virtual_actors&) = delete;

  /// Spawns the actor of a handler. @pre the number is new
  void start(worker::handler_number number, const actor_factory& factory, const std::string& group);

  [[nodiscard]] bool contains(worker::handler_number number) const {
    return handlers_.contains(number);
  }

  /// Makes a handler run an attempt. @pre it was started and runs none
  void run(worker::handler_number number, const task& attempt);

  /// Runs messages until none is left; true when there was one.
  bool run();

  /// Time until the next delayed message is due; empty when there is none.
  [[nodiscard]] std::optional<duration> next_event() const;

  /// Advances the clock and delivers the messages that become due.
  void advance(duration by);

  /// Ends an idle actor.
  void stop(worker::handler_number number);

  /// Ends all actors, including those that run an attempt; `hearer` is not called for them.
  void stop();

private:
  struct configuration : caf::actor_system_config {
    configuration();
  };

  /// An answer of the actor whose message is being handled.
  void take(outcome answer);

  hearer by_;
  configuration config_;
  std::optional<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  caf::actor receiver_;
  caf::event_based_actor* self_ = nullptr;
  std::map<worker::handler_number, handler_actor> handlers_;
  std::map<caf::actor_id, worker::handler_number> numbers_;
};

} // namespace codeq::testing
