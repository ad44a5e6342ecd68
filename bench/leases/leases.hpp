// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `leases`: what the coordinator needs while many leases are alive and beaten.
[[nodiscard]] measurement leases_measurement();

/// `expiry`: how long it takes until all of many leases that end together are granted anew.
[[nodiscard]] measurement expiry_measurement();

} // namespace codeq::bench
