// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>

namespace codeq::core {

/// Position in the shard's log: epoch and counter, as in a fencing token.
using log_position = std::uint64_t;

/// The tasks first .. first + count - 1.
struct seq_run {
  sequence first = 0;
  std::uint32_t count = 0;

  friend bool operator==(const seq_run&, const seq_run&) = default;
};

} // namespace codeq::core
