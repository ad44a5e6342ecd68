// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/ctl_config.hpp"

namespace codeq::ctl {

/// Runs a command at the gateway of `--http`, or says that it takes a coordinator's node port; what
/// needs neither runs as ever. Answers are the gateway's JSON, or the same in lines for people.
[[nodiscard]] int run_over_http(const config::ctl_config& config, config::ctl_command command);

} // namespace codeq::ctl
