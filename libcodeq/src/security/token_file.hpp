// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/token_table.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// Token files on disk. A change replaces the file as a whole, with the access rights that it had,
/// so that a coordinator never reads half of one; remarks and order stay.
namespace codeq::security {

/// Errors: `unavailable` (cannot be read), and those of `parse_tokens`, with the file's name.
[[nodiscard]] result<token_table> read_token_file(const std::filesystem::path& file);

/// Adds a token for `who`, whose digest is filled in, and returns it: it is stored nowhere. The
/// file is made when it is missing, readable by its owner only. Errors: also `too_large`.
[[nodiscard]] result<std::string> create_token(const std::filesystem::path& file, principal who);

/// Removes the token whose digest begins with `name`, of 8 digits or more. Returns whose it was.
/// Errors: `invalid_argument` when none or several begin so.
[[nodiscard]] result<principal>
revoke_token(const std::filesystem::path& file, std::string_view name);

/// The token of a file that holds nothing else, for those who bear it. Errors: `unavailable`,
/// `invalid_argument`; they do not quote it.
[[nodiscard]] result<std::string> read_bearer(const std::filesystem::path& file);

} // namespace codeq::security
