// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `fairness`: how long tasks of small fairness keys wait beside a flood, in virtual time; claims
/// per second with and without keys, and the memory of many keys, of one shard in this process.
[[nodiscard]] measurement fairness_measurement();

} // namespace codeq::bench
