// SPDX-License-Identifier: Apache-2.0
#include "http/server/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace codeq::http {

namespace {

constexpr std::size_t url_bytes_max = 2048;

error invalid(const char* text) {
  return {errc::invalid_argument, text};
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'
         || c == '.' || c == '_' || c == '~';
}

/// Removes `http://` or `https://` from the front; true for `https://`.
result<bool> take_scheme(std::string_view& text) {
  for (std::string_view scheme : {"http://", "https://"}) {
    auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    bool fits = text.size() >= scheme.size()
                && std::equal(scheme.begin(), scheme.end(), text.begin(), [&](char want, char is) {
                     return same(is, want);
                   });
    if (!fits)
      continue;
    text.remove_prefix(scheme.size());
    return scheme == "https://";
  }
  return invalid("a URL must begin with http:// or https://");
}

result<std::string> port_of(std::string_view text) {
  std::uint16_t port = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size() || port == 0)
    return invalid("the port of a URL must be 1..65535");
  return std::string(text);
}

/// Reads `HOST[:PORT]` or `[IPV6][:PORT]`.
result<void> read_authority(std::string_view text, http_url& to) {
  bool has_brackets = text.starts_with('[');
  auto end = has_brackets ? text.find(']') : text.find(':');
  if (has_brackets && end == text.npos)
    return invalid("the host of a URL has a bracket without its other half");
  auto host = has_brackets ? text.substr(1, end - 1) : text.substr(0, end);
  auto is_of_host = [&](char c) { return is_plain(c) || (has_brackets && c == ':'); };
  if (host.empty() || !std::all_of(host.begin(), host.end(), is_of_host))
    return invalid("a URL must name a host of letters, digits, `.`, `-` and `_`, or an address");
  to.host = std::string(host);
  to.port = to.is_secured ? "443" : "80";
  auto rest = end == text.npos ? std::string_view() : text.substr(end + (has_brackets ? 1 : 0));
  if (rest.empty())
    return {};
  if (rest.front() != ':')
    return invalid("only a port may follow the host of a URL");
  auto port = port_of(rest.substr(1));
  if (!port)
    return port.error();
  to.port = std::move(*port);
  return {};
}

} // namespace

result<http_url> parse_url(std::string_view text) {
  if (text.size() > url_bytes_max)
    return invalid("a URL may have 2048 bytes");
  auto is_secured = take_scheme(text);
  if (!is_secured)
    return is_secured.error();
  auto is_usable = [](char c) { return c > ' ' && c < 127 && c != '#' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_usable))
    return invalid("a URL may have printable characters only, and no fragment");
  auto end = std::min(text.find_first_of("/?"), text.size());
  auto authority = text.substr(0, end);
  if (authority.find('@') != authority.npos)
    return invalid("a URL may name no user");
  http_url url;
  url.is_secured = *is_secured;
  if (auto ok = read_authority(authority, url); !ok)
    return ok.error();
  auto target = text.substr(end);
  url.target = (target.starts_with('/') ? "" : "/") + std::string(target);
  return url;
}

std::string host_field(const http_url& url) {
  bool is_usual = url.port == (url.is_secured ? "443" : "80");
  auto host = url.host.find(':') == url.host.npos ? url.host : "[" + url.host + "]";
  return is_usual ? host : host + ":" + url.port;
}

std::string escape(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string escaped;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (is_plain(c))
      escaped += c;
    else
      escaped.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return escaped;
}

} // namespace codeq::http
