// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace codeq::http {

/// `openapi.json`, which stands beside this file and becomes part of the program when it is built.
[[nodiscard]] std::string_view openapi_document();

} // namespace codeq::http
