// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace codeq::observe {

/// Logs variables of the environment that look like options of codeq and are none, each with the
/// name that may be meant: as a warning when there is such a name, else as a note, since handlers
/// have variables of their own.
void log_unknown_variables(
  std::string_view program, const std::map<std::string, std::string_view>& unknown);

} // namespace codeq::observe
