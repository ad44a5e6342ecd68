// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/ctl_config.hpp"

/// The commands of codeqctl. Each connects, does its work, prints and returns the exit status.
namespace codeq::ctl {

[[nodiscard]] int run_enqueue(const config::ctl_config& config, config::enqueue_command command);

[[nodiscard]] int run_get(const config::ctl_config& config, const config::get_command& command);

[[nodiscard]] int
run_result(const config::ctl_config& config, const config::result_command& command);

[[nodiscard]] int
run_change(const config::ctl_config& config, const config::change_command& command);

[[nodiscard]] int run_stats(const config::ctl_config& config);

} // namespace codeq::ctl
