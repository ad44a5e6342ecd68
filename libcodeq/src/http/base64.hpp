// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace codeq::http {

/// The standard alphabet, with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// True when the text is base64 with padding.
[[nodiscard]] bool is_base64(std::string_view text) noexcept;

} // namespace codeq::http
