// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"

namespace codeq::bench {

/// `dashboard`: how long the data of each page of the dashboard take with many tasks, and an
/// operation that redrives all dead tasks: how long its acceptance takes, its rate, and its
/// continuation after the coordinator was killed in the middle.
[[nodiscard]] measurement dashboard_measurement();

} // namespace codeq::bench
