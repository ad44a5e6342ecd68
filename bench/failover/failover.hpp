// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `failover`: how long the shards of a coordinator that is killed under load accept no task and
/// hand none out.
[[nodiscard]] measurement failover_measurement();

} // namespace codeq::bench
