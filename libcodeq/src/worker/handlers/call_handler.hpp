// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"

namespace codeq::worker {

/// Calls the function on the calling thread; an exception becomes a failed outcome with its text.
[[nodiscard]] outcome call_handler(const handler_function& function, const task& attempt);

/// Spawns an actor that calls the function on a thread of its own.
[[nodiscard]] handler_actor
spawn_function_handler(caf::actor_system& system, handler_function function);

/// The outcome of an attempt whose handler actor ended with `reason`: failed, with the text of the
/// exception if there was one.
[[nodiscard]] outcome ended_with(const caf::actor_system& system, const caf::error& reason);

/// The outcome of an attempt whose handler actor answered with an error in place of an outcome.
[[nodiscard]] outcome answered_with(const caf::actor_system& system, const caf::error& reason);

} // namespace codeq::worker
