// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <string>
#include <string_view>

namespace codeq::base {

/// Parses a whole number with its unit: `500ms`, `2s`, `5m`, `1h`, `7d`; a bare `0` needs none.
/// Errors: `invalid_argument` says what is allowed.
[[nodiscard]] result<duration> parse_duration(std::string_view text);

/// Formats a duration for `parse_duration`, in the largest unit that represents it exactly.
[[nodiscard]] std::string format_duration(duration value);

} // namespace codeq::base
