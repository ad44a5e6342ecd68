// SPDX-License-Identifier: Apache-2.0
#include "node/environment_log.hpp"

#include "config/environment_names.hpp"
#include "observe/log.hpp"

namespace codeq::node {

void log_unknown_variables(std::string_view program) {
  for (const auto& unknown : config::find_unknown(config::codeq_variables())) {
    if (unknown.meant.empty())
      CODEQ_LOG_INFO("{} does not read the variable name={}", program, unknown.name);
    else
      CODEQ_LOG_WARN(
        "{} ignores an unknown variable name={} meant={}", program, unknown.name, unknown.meant);
  }
}

} // namespace codeq::node
