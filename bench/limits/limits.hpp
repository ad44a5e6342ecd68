// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

#include <filesystem>

namespace codeq::bench {

/// `limits`: full cycles of tasks of many limit keys against the same tasks without limits, and how
/// exactly the starts of one key follow its rate. `library`: the handlers of the workers.
[[nodiscard]] measurement limits_measurement(const std::filesystem::path& library);

} // namespace codeq::bench
