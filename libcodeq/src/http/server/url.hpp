// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <string_view>

namespace codeq::http {

/// A URL that requests can be sent to.
struct http_url {
  /// `https`.
  bool is_secured = false;
  /// A name or an address, without brackets.
  std::string host;
  std::string port;
  /// Path and query; at least `/`.
  std::string target;
};

/// Reads `http[s]://HOST[:PORT][/PATH][?QUERY]`; pure. Errors: `invalid_argument` for another
/// scheme, a user's name, a fragment, characters that have no place there, and more than 2048
/// bytes.
[[nodiscard]] result<http_url> parse_url(std::string_view text);

/// Whom to name in `Host`.
[[nodiscard]] std::string host_field(const http_url& url);

/// The text with everything escaped that is not a letter, a digit or one of `-._~`.
[[nodiscard]] std::string escape(std::string_view text);

} // namespace codeq::http
