// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `http`: requests per second over the HTTP gateway and the server's CPU, one task a request: of
/// enqueues alone, and of full cycles of enqueue, claim and result.
[[nodiscard]] measurement http_measurement();

} // namespace codeq::bench
