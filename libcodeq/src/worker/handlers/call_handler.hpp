// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

namespace codeq::worker {

/// Calls the function on the calling thread; an exception becomes a failed outcome with its text.
[[nodiscard]] outcome call_handler(const handler_function& function, const task& attempt);

/// The outcome of an attempt whose handler actor ended with `reason`: failed, with the text of the
/// exception if there was one.
[[nodiscard]] outcome ended_with(const caf::actor_system& system, const caf::error& reason);

} // namespace codeq::worker
