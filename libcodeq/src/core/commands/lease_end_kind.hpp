// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::core {

/// How a lease ended. Stored on disk, never renumber.
enum class lease_end_kind : std::uint8_t {
  completed = 0,
  failed = 1,
  failed_permanently = 2,
  nacked = 3,
  abandoned = 4,
  expired = 5,
  revoked = 6,
  cancelled = 7,
  timed_out = 8,
  /// An operator ended the lease, or the task, without its token.
  forced = 9,
  /// The handler gave the task back, and closed its limit key.
  limited = 10,
};

} // namespace codeq::core
