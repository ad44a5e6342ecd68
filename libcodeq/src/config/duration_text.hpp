// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <string>
#include <string_view>

namespace codeq::config {

/// Reads a whole number with its unit: `500ms`, `2s`, `5m`, `1h`, `7d`; a bare `0` needs none.
/// Errors: `invalid_argument` says what is allowed.
[[nodiscard]] result<duration> parse_duration(std::string_view text);

/// Writes what `parse_duration` reads, in the largest unit that loses nothing.
[[nodiscard]] std::string format_duration(duration value);

} // namespace codeq::config
