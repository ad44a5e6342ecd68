// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Checks of UTF-8 and base64, and encodings of other bytes as text; pure.
namespace codeq::base {

/// True when the bytes are well-formed UTF-8 (no overlong forms, no surrogates).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Uses the standard alphabet and padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// True when the text is base64 with padding.
[[nodiscard]] bool is_base64(std::string_view text) noexcept;

/// True when the text is base64url without padding, as RFC 7515 has it. The empty text is.
[[nodiscard]] bool is_base64url(std::string_view text) noexcept;

/// Two lower-case hexadecimal digits for each byte.
[[nodiscard]] std::string to_hex(std::string_view bytes);

} // namespace codeq::base
