// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

#include <filesystem>

namespace codeq::bench {

/// `recover`: how long the tasks of a lost worker wait until they begin at another one, after a
/// kill and after an orderly stop.
[[nodiscard]] measurement recover_measurement(const std::filesystem::path& library);

} // namespace codeq::bench
