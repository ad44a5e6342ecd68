// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `handover`: the longest time for which a producer that adds one task after the other is not
/// answered while the shard with many waiting tasks moves to another coordinator.
[[nodiscard]] measurement handover_measurement();

} // namespace codeq::bench
