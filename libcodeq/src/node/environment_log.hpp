// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace codeq::node {

/// Logs the variables of the environment that look like options of codeq and are none: as a warning
/// when one is near to an option, else as a note, since handlers have variables of their own.
void log_unknown_variables(std::string_view program);

} // namespace codeq::node
