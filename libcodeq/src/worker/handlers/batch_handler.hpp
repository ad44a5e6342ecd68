// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "actors/actors.hpp"

namespace codeq::worker {

/// The BATCH actor interface: a batch function in a slot of its own.
using batch_actor = caf::typed_actor<
  // Runs the attempts together and answers how each ended.
  caf::replies_to<actors::batch_attempt>::with<actors::batch_outcome>>;

/// Calls the function and answers one outcome for each task whatever it does: an exception, or
/// another number of outcomes than tasks, fails all of them.
[[nodiscard]] std::vector<outcome>
call_batch(const batch_function& function, std::span<const task> attempts);

/// On a thread of its own.
[[nodiscard]] batch_actor spawn_batch_handler(caf::actor_system& system, batch_function function);

} // namespace codeq::worker
