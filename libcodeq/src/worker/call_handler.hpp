// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

namespace codeq::worker {

/// Calls the function and turns what it throws into a failed outcome with its text. On the calling
/// thread.
[[nodiscard]] outcome call_handler(const handler_function& function, const task& attempt);

} // namespace codeq::worker
