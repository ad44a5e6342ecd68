// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `produce`: adds tasks one by one to a coordinator that is already running. It prints a line and
/// waits for one on the standard input before the tasks and after them, so that a profiler can
/// count what exactly these tasks take.
[[nodiscard]] measurement produce_measurement();

} // namespace codeq::bench
