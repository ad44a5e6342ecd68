// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace codeq::ctl {

/// A gateway's answer for people: its members one a line, lists of objects as tables.
[[nodiscard]] std::string document_text(std::string_view json);

} // namespace codeq::ctl
