// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <string>
#include <string_view>

namespace codeq::http {

/// A URL to send requests to.
struct http_url {
  /// True for `https`.
  bool is_secured = false;
  /// A name, or an address without brackets.
  std::string host;
  std::string port;
  /// Path and query; at least `/`.
  std::string target;
};

/// Reads `http[s]://HOST[:PORT][/PATH][?QUERY]`; pure. Errors: `invalid_argument` for another
/// scheme, a user name, a fragment, characters that are not allowed, and more than 2048 bytes.
[[nodiscard]] result<http_url> parse_url(std::string_view text);

/// The value of the `Host` field.
[[nodiscard]] std::string host_field(const http_url& url);

/// Escapes every character that is not a letter, a digit or one of `-._~`.
[[nodiscard]] std::string escape(std::string_view text);

} // namespace codeq::http
