// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// Many schedules with periods between a minute and a day at random phases: how late they fire, and
/// what they cost; then a burst of schedules of the same minute.
[[nodiscard]] measurement schedules_measurement();

} // namespace codeq::bench
