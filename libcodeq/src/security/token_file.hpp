// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/token_table.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// Token files on disk. A change replaces the whole file and keeps its access rights, so that a
/// coordinator never reads a partial file; comments and order are kept.
namespace codeq::security {

/// Errors: `unavailable` (cannot be read, or every user may write it), and those of `parse_tokens`,
/// with the file's name.
[[nodiscard]] result<token_table> read_token_file(const std::filesystem::path& file);

/// Creates a token for `who`, fills in its digest, and returns the token, which is stored nowhere.
/// A missing file is created, readable by its owner only. Errors: also `too_large`.
[[nodiscard]] result<std::string> create_token(const std::filesystem::path& file, principal who);

/// Removes the token whose digest begins with `name`, which has 8 digits or more. Returns its
/// principal. Errors: `invalid_argument` when no digest or several begin with it.
[[nodiscard]] result<principal>
revoke_token(const std::filesystem::path& file, std::string_view name);

struct rotated_token {
  std::string token;
  /// The old token, which stays valid until `expires`.
  principal old;
};

/// Creates a token with the rights of the one whose digest begins with `name`; it expires at
/// `expires`, or never. The old one expires at `old_until`, unless it expires earlier. Errors: of
/// `create_token` and `revoke_token`; `invalid_argument` when the old token expires and the new one
/// would not.
[[nodiscard]] result<rotated_token> rotate_token(
  const std::filesystem::path& file,
  std::string_view name,
  std::optional<timestamp> expires,
  timestamp old_until);

/// Reads the bearer token of a file that contains only the token. Errors: `unavailable`,
/// `invalid_argument`; they do not quote the token.
[[nodiscard]] result<std::string> read_bearer(const std::filesystem::path& file);

} // namespace codeq::security
