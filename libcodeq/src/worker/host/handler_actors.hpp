// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"

#include "worker/node/dispatcher.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

/// The handlers of a node's queues, and their running actors. A handler's number is the id of its
/// actor. Used by the dispatcher's actor.
class handler_actors {
public:
  /// Adds handlers, in place of those of the same queues. Returns their queues, for the dispatcher.
  [[nodiscard]] std::vector<served_queue> serve(std::vector<handler_registry::entry> handlers);

  /// Starts an actor of the handler with that name or pattern. @pre `serve` got that handler
  [[nodiscard]] caf::actor
  start(caf::actor_system& system, const std::string& queue, const std::string& group);

  /// @pre the handler was started, and has neither been stopped nor ended
  [[nodiscard]] const caf::actor& at(handler_number handler) const { return running_.at(handler); }

  /// Ends a handler after its current attempt.
  void stop(handler_number handler);

  /// The handler has ended.
  void forget(handler_number handler) { running_.erase(handler); }

private:
  /// The handler entry of each name and pattern, including those that are no longer served.
  std::unordered_map<std::string, handler_registry::entry> entries_;
  std::unordered_map<handler_number, caf::actor> running_;
};

} // namespace codeq::worker
