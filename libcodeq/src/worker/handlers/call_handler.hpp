// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

namespace codeq::worker {

/// Calls the function and turns what it throws into a failed outcome with its text. On the calling
/// thread.
[[nodiscard]] outcome call_handler(const handler_function& function, const task& attempt);

/// What an attempt came to when its handler actor ended with `reason`: failed, with the text of the
/// exception if it was one.
[[nodiscard]] outcome ended_with(const caf::actor_system& system, const caf::error& reason);

} // namespace codeq::worker
