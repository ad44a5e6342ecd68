// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "schedule/time_zone.hpp"

#include <string>
#include <string_view>

namespace codeq::schedule {

/// Decodes a zone file (TZif, RFC 8536): the transitions of version 2 or later, and for the time
/// after them the rule of the footer. Files with leap seconds are refused. Errors: `corruption`
/// says what is wrong; any bytes are safe.
[[nodiscard]] result<time_zone> decode_zone_file(std::string name, std::string_view bytes);

} // namespace codeq::schedule
