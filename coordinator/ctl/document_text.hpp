// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace codeq::ctl {

/// Formats a gateway's JSON answer for people: one line per member, lists of objects as tables.
[[nodiscard]] std::string document_text(std::string_view json);

} // namespace codeq::ctl
