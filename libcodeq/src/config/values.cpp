// SPDX-License-Identifier: Apache-2.0
#include "config/values.hpp"

#include "codeq/ids.hpp"

#include "base/duration_text.hpp"
#include "base/enum_names.hpp"
#include "base/nearest_name.hpp"

#include <algorithm>
#include <charconv>

namespace codeq::config {

namespace {

constexpr std::size_t quoted_chars_max = 200;

error refusal(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
         || c == '-' || c == '_';
}

bool is_host(std::string_view host, bool bracketed) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
    return is_host_char(c) || (bracketed && c == ':');
  });
}

/// Parses four numbers of 0 to 255; `127.evil.example` must not pass for an address.
bool is_ipv4(std::string_view host) {
  const char* at = host.data();
  const char* end = at + host.size();
  for (int part = 0; part < 4; ++part) {
    std::uint8_t number = 0;
    auto [next, code] = std::from_chars(at, end, number);
    if (code != std::errc{} || (part < 3 && (next == end || *next != '.')))
      return false;
    at = part < 3 ? next + 1 : next;
  }
  return at == end;
}

} // namespace

std::string quote(std::string_view value) {
  std::string text = "`";
  for (char c : value.substr(0, quoted_chars_max))
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (value.size() > quoted_chars_max)
    text += "...";
  return text + "`";
}

result<std::uint64_t> parse_count(std::string_view text, count_range range) {
  std::uint64_t number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = code == std::errc{} && end == text.data() + text.size();
  if (!whole || number < range.min || number > range.max)
    return refusal(
      quote(text) + " is not a whole number " + std::string(range.unit) + "from "
      + std::to_string(range.min) + " to "
      + std::to_string(range.max));
  return number;
}

result<duration> parse_duration_in(std::string_view text, duration_range range) {
  auto parsed = base::parse_duration(text);
  if (!parsed)
    return parsed.error();
  if (*parsed < range.min || *parsed > range.max)
    return refusal(
      quote(text) + " is outside " + base::format_duration(range.min) + " to "
      + base::format_duration(range.max));
  return *parsed;
}

result<bool> parse_switch(std::string_view text) {
  if (text == "true" || text == "1")
    return true;
  if (text == "false" || text == "0")
    return false;
  return refusal(quote(text) + " is neither true nor false");
}

result<std::string> parse_name(std::string_view text) {
  if (!is_valid_name(text))
    return refusal(quote(text) + " is not a name of 1 to 128 letters, digits, `.`, `_` or `-`");
  return std::string(text);
}

result<std::size_t>
parse_choice(std::string_view text, const std::vector<std::string_view>& allowed) {
  auto found = std::find_if(allowed.begin(), allowed.end(), [text](std::string_view name) {
    return base::is_same_name(name, text);
  });
  if (found != allowed.end())
    return static_cast<std::size_t>(found - allowed.begin());
  return refusal(quote(text) + " is not " + base::list_of(allowed));
}

result<host_port> parse_host_port(std::string_view text, bool zero_allowed) {
  auto wrong = refusal(quote(text) + " is not an address and port, for example 127.0.0.1:7400");
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return wrong;
  auto host = text.substr(0, colon);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed)
    host = host.substr(1, host.size() - 2);
  if (!is_host(host, bracketed))
    return wrong;
  auto port = parse_count(text.substr(colon + 1), {zero_allowed ? 0u : 1u, 65535});
  if (!port)
    return refusal(quote(text) + ": port " + port.error().context);
  return host_port{std::string(host), static_cast<std::uint16_t>(*port)};
}

result<std::string> parse_listen(const std::string& text) {
  auto address = parse_host_port(text, true);
  if (!address)
    return address.error();
  return text;
}

result<std::string> parse_origin(const std::string& text) {
  auto wrong = refusal(
    quote(text) + " is not the origin of web pages; write * or for example https://app.example");
  if (text == "*")
    return text;
  auto end = text.find("://");
  auto scheme = text.substr(0, end);
  if (end == text.npos || (scheme != "https" && scheme != "http"))
    return wrong;
  auto host = text.substr(end + 3);
  bool has_port = host.find(':') != host.npos && host.back() != ']';
  if (!parse_host_port(has_port ? host : host + ":80", false))
    return wrong;
  return text;
}

result<std::vector<std::string>> parse_coordinators(std::string_view text) {
  std::vector<std::string> addresses;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto end = std::min(text.find(',', begin), text.size());
    auto one = text.substr(begin, end - begin);
    if (auto parsed = parse_host_port(one, false); !parsed)
      return parsed.error();
    addresses.emplace_back(one);
    begin = end + 1;
  }
  return addresses;
}

bool is_loopback(std::string_view host) noexcept {
  return host == "localhost" || host == "::1" || (host.substr(0, 4) == "127." && is_ipv4(host));
}

} // namespace codeq::config
