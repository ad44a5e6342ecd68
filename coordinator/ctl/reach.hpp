// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "config/ctl_config.hpp"

namespace codeq::ctl {

/// What is wrong when waiting ended with `reason`: for a timeout while no coordinator can be
/// reached it is that. Tries to connect for a moment.
[[nodiscard]] error explain(const error& reason, const config::ctl_config& config);

} // namespace codeq::ctl
