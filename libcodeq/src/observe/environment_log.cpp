// SPDX-License-Identifier: Apache-2.0
#include "observe/environment_log.hpp"

#include "observe/log.hpp"

namespace codeq::observe {

void log_unknown_variables(
  std::string_view program, const std::map<std::string, std::string_view>& unknown) {
  for (const auto& [name, meant] : unknown) {
    if (meant.empty())
      CODEQ_LOG_INFO("{} does not read the variable name={}", program, name);
    else
      CODEQ_LOG_WARN("{} ignores an unknown variable name={} meant={}", program, name, meant);
  }
}

} // namespace codeq::observe
