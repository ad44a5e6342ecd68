// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstddef>
#include <cstdint>

namespace codeq::bench {

struct gateway_fill {
  /// Waiting tasks, in queues `q0`, `q1` and so on.
  std::size_t tasks = 0;
  /// Dead tasks, in queue `broken`.
  std::size_t dead = 0;
  std::size_t queues = 1;
};

/// Adds tasks through an HTTP gateway on the loopback address, and lets some of them die. Errors:
/// `unavailable`.
[[nodiscard]] result<void> fill_gateway(std::uint16_t port, const gateway_fill& fill);

} // namespace codeq::bench
