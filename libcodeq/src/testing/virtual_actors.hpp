// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace codeq::testing {

/// Handler actors on a scheduler that runs when it is told to, under a clock of its own. One actor
/// runs one attempt at a time; keyed ones are kept by their group.
class virtual_actors {
public:
  /// Learns what an attempt came to; `token` names it.
  using answered = std::function<void(fencing_token token, outcome answer)>;

  explicit virtual_actors(answered told);
  ~virtual_actors();
  virtual_actors(const virtual_actors&) = delete;
  virtual_actors& operator=(const virtual_actors&) = delete;

  /// False while the actor of that group is busy.
  [[nodiscard]] bool may_start(const handler_registry::entry& handler, const task& attempt) const;

  /// @pre may_start
  void start(const handler_registry::entry& handler, const task& attempt);

  /// Runs messages until none is left; true when there was one.
  bool run();

  /// When the next delayed message is due; empty when there is none.
  [[nodiscard]] std::optional<duration> next_event() const;

  /// Moves the clock; what is due comes. Ends keyed actors that were idle for their time.
  void advance(duration by);

  /// Ends all actors, whatever they do; nothing is told of what they ran.
  void stop();

private:
  struct slot {
    handler_actor handler;
    std::string queue;
    std::string group;
    std::optional<duration> idle_limit;
    std::optional<fencing_token> running;
    duration idle{0};
  };

  struct configuration : caf::actor_system_config {
    configuration();
  };

  [[nodiscard]] slot& find_or_spawn(const handler_registry::entry& handler, const task& attempt);
  void take(caf::actor_id from, outcome answer);
  void take_end(caf::actor_id from, const caf::error& reason);

  answered told_;
  configuration config_;
  std::optional<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  caf::actor receiver_;
  caf::event_based_actor* self_ = nullptr;
  std::map<caf::actor_id, slot> slots_;
};

} // namespace codeq::testing
