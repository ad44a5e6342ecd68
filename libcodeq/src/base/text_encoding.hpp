// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// What may stand in texts, and how other bytes are put into them; pure.
namespace codeq::base {

/// True when the bytes are well-formed UTF-8 (no overlong forms, no surrogates).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The standard alphabet, with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// True when the text is base64 with padding.
[[nodiscard]] bool is_base64(std::string_view text) noexcept;

/// Two lower-case hexadecimal digits for each byte.
[[nodiscard]] std::string to_hex(std::string_view bytes);

} // namespace codeq::base
