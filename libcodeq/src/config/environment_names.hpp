// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Environment variables whose names begin with `CODEQ_`. An unknown one is not refused, since
/// handlers and programs may have variables of their own under that prefix; it is reported.
namespace codeq::config {

/// The names of this process's variables that begin with `CODEQ_`, sorted.
[[nodiscard]] std::vector<std::string> codeq_variables();

/// The variables that no program of codeq knows, each with a known name that is near, or with none.
[[nodiscard]] std::map<std::string, std::string_view>
find_unknown(const std::vector<std::string>& variables);

/// The same for this process.
[[nodiscard]] inline std::map<std::string, std::string_view> unknown_variables() {
  return find_unknown(codeq_variables());
}

} // namespace codeq::config
