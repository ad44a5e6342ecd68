// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include <string>

namespace codeq::worker {

/// Loads a handler library and lets it register its handlers. The library stays loaded until the
/// process ends, because its code may run until then. Errors: `unavailable` when it cannot be
/// loaded, lacks the entry points of `CODEQ_HANDLERS`, or was built for another handler ABI.
[[nodiscard]] result<void> load_handlers(const std::string& file, handler_registry& into);

} // namespace codeq::worker
