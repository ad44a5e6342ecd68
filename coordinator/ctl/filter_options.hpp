// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ctl/command_options.hpp"

#include <vector>

/// Options that select tasks.
namespace codeq::ctl {

/// By queue, tenant, group and error text.
[[nodiscard]] std::vector<option> common_filter_options(task_filter& to);

/// By state, key, worker, headers and the time of the enqueue.
[[nodiscard]] std::vector<option> task_filter_options(task_filter& to);

} // namespace codeq::ctl
