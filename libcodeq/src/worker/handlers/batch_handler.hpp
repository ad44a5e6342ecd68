// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"

#include "actors/actors.hpp"

namespace codeq::worker {

/// The BATCH actor interface: runs a batch function in a slot.
using batch_actor = caf::typed_actor<
  // Runs the attempts together and replies with their outcomes.
  caf::replies_to<actors::batch_attempt>::with<actors::batch_outcome>>;

/// Calls the function and returns one outcome per task in every case: an exception, or a wrong
/// number of outcomes, fails all tasks.
[[nodiscard]] std::vector<outcome>
call_batch(const batch_function& function, std::span<const task> attempts);

/// Spawns the actor on a thread of its own.
[[nodiscard]] batch_actor spawn_batch_handler(caf::actor_system& system, batch_function function);

} // namespace codeq::worker
