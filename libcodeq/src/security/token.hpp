// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/principal.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace codeq::security {

/// A new token: `codeq_` and 256 random bits in hexadecimal. Errors: `unavailable`.
[[nodiscard]] result<std::string> make_token();

/// The digest that is stored in place of a token. A token has 256 random bits, so one round without
/// salt is enough.
[[nodiscard]] token_digest digest_of(std::string_view token);

/// Compares in constant time.
[[nodiscard]] bool is_same(const token_digest& a, const token_digest& b) noexcept;

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string to_text(const token_digest& digest);
[[nodiscard]] std::optional<token_digest> parse_digest(std::string_view text);

/// The first 16 digits, by which people distinguish the tokens of a file.
[[nodiscard]] std::string short_name(const token_digest& digest);

} // namespace codeq::security
