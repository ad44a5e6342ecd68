// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::config {

/// Reads a TOML file of options: text, whole numbers, true and false, and lists of text, at the top
/// level only. Returns each key's values as text. Errors: `unavailable` (cannot be read),
/// `invalid_argument` (not TOML, or another kind of value), naming line or key.
[[nodiscard]] result<std::map<std::string, std::vector<std::string>>>
read_option_file(const std::string& path);

} // namespace codeq::config
