// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Parsers of single option values. Every refusal is an `invalid_argument` whose context names the
/// value and what is allowed; it is printed after the option's name.
namespace codeq::config {

struct count_range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  /// Names in errors what is counted, such as "of bytes ". @pre it outlives the option
  std::string_view unit = {};
};

struct duration_range {
  duration min{0};
  duration max{0};
};

/// Quotes a value for an error text; control characters are replaced, and long values are cut.
[[nodiscard]] std::string quote(std::string_view value);

[[nodiscard]] result<std::uint64_t> parse_count(std::string_view text, count_range range);

[[nodiscard]] result<duration> parse_duration_in(std::string_view text, duration_range range);

/// `true` or `false`; also `1` and `0`, which are common in environment variables.
[[nodiscard]] result<bool> parse_switch(std::string_view text);

/// A name of `[A-Za-z0-9._-]{1,128}`.
[[nodiscard]] result<std::string> parse_name(std::string_view text);

/// The index in `allowed` of the given value, in which `_` and `-` are the same.
[[nodiscard]] result<std::size_t>
parse_choice(std::string_view text, const std::vector<std::string_view>& allowed);

struct host_port {
  /// Without the brackets of an IPv6 address.
  std::string host;
  std::uint16_t port = 0;
};

/// `HOST:PORT` or `[IPV6]:PORT`; port 0 only when `zero_allowed`.
[[nodiscard]] result<host_port> parse_host_port(std::string_view text, bool zero_allowed);

/// `ADDR:PORT` to listen on; port 0 lets the system choose.
[[nodiscard]] result<std::string> parse_listen(const std::string& text);

/// `*`, or the origin of web pages: `http[s]://HOST[:PORT]` without a path.
[[nodiscard]] result<std::string> parse_origin(const std::string& text);

/// `HOST:PORT[,HOST:PORT...]`, at least one.
[[nodiscard]] result<std::vector<std::string>> parse_coordinators(std::string_view text);

/// True for `localhost`, `::1` and 127.0.0.0/8.
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

} // namespace codeq::config
