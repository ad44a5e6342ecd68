// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace codeq::base {

/// Formats a time as `2026-05-20T10:00:00.123Z`.
[[nodiscard]] std::string to_rfc3339(timestamp when);

/// Reads a date and time with zone, `2026-05-20T10:00:00[.fraction](Z|+hh:mm|-hh:mm)`. Digits
/// beyond milliseconds are cut off. Empty for any other text.
[[nodiscard]] std::optional<timestamp> parse_rfc3339(std::string_view text);

} // namespace codeq::base
