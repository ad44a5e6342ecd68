// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

#include <filesystem>

namespace codeq::bench {

/// `retries`: the cost of tasks whose first attempt fails and whose second one, after the default
/// retry delay, succeeds, against tasks that succeed at once: `ratio_cpu` of all processes,
/// `ratio_log` of the store's log.
[[nodiscard]] measurement retries_measurement(const std::filesystem::path& library);

} // namespace codeq::bench
