// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/ctl_config.hpp"

namespace codeq::ctl {

/// Adds tasks at a gateway, prints their ids and waits for their ends when that is wanted.
[[nodiscard]] int
enqueue_over_http(const config::ctl_config& config, config::enqueue_command command);

/// Prints the result of a task, as a gateway tells it.
[[nodiscard]] int
result_over_http(const config::ctl_config& config, const config::result_command& command);

} // namespace codeq::ctl
