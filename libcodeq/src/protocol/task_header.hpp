// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"

#include <string>
#include <string_view>

namespace codeq::protocol {

/// The value of the first header with that name in a task's body; empty when it has none. Reads the
/// body in place. @pre `read_runs` or a record's codec has checked the body
[[nodiscard]] std::string header_of(const bytes& body, std::string_view name);

} // namespace codeq::protocol
