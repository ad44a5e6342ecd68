// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::config {

/// Parses a TOML file of options: strings, integers, booleans and lists of strings, at the top
/// level only. Returns each key's values as text. Errors: `unavailable` (cannot be read),
/// `invalid_argument` (not TOML, or another type of value); they name the line or the key.
[[nodiscard]] result<std::map<std::string, std::vector<std::string>>>
read_option_file(const std::string& path);

/// Reads a TOML file of tables, each with options as above, by the names of the tables. Errors: as
/// above.
[[nodiscard]] result<std::map<std::string, std::map<std::string, std::vector<std::string>>>>
read_section_file(const std::string& path);

} // namespace codeq::config
