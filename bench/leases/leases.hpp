// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `leases`: resources that the coordinator uses while many leases are kept alive by heartbeats.
[[nodiscard]] measurement leases_measurement();

/// `expiry`: time until all of many leases that expire together are granted again.
[[nodiscard]] measurement expiry_measurement();

} // namespace codeq::bench
