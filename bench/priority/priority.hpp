// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `priority`: claims tasks of ten priorities, which wait on several shards, one at a time over
/// HTTP, and counts the claims that got a task while one of a higher priority waited.
[[nodiscard]] measurement priority_measurement();

} // namespace codeq::bench
