// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include "actors/actors.hpp"

#include <functional>
#include <vector>

namespace codeq::worker {

class dispatcher_state;

struct dispatcher_options {
  /// One per queue, no queue twice.
  std::vector<handler_registry::entry> handlers;
  std::string tenant = "default";
  /// Tasks that run at once; at least 1.
  std::size_t slots = limits::slots_default;
  /// Tasks taken beyond the slots.
  std::size_t prefetch = limits::slots_default;
  /// Tasks of one message at most, both of those claimed and of those reported; at least 1.
  std::size_t batch = limits::reports_per_request_max;
  /// How many coordinators; links are numbered below.
  std::size_t links = 1;
  /// Called once, on the thread of the sockets, when it has ended: success after a drain, else why
  /// no coordinator wants this node any more.
  std::function<void(result<void>)> on_end;
};

/// The behavior of the dispatcher. To be spawned beside the sockets, where no handler holds it up;
/// a test with a scheduler of its own may spawn it there.
actors::dispatcher_actor::behavior_type dispatcher(
  actors::dispatcher_actor::stateful_pointer<dispatcher_state> self, dispatcher_options options);

/// Spawns it so, for whoever does not need to see the state.
[[nodiscard]] actors::dispatcher_actor
spawn_dispatcher(caf::actor_system& system, dispatcher_options options);

/// Where the frames of link `index` go.
[[nodiscard]] actors::frame_sink
dispatcher_sink(actors::dispatcher_actor dispatcher, std::size_t index);

} // namespace codeq::worker
