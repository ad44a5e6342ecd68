// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace codeq::ctl {

/// Reads standard input to its end, or to one byte more than a payload may have.
[[nodiscard]] std::string read_payload();

} // namespace codeq::ctl
