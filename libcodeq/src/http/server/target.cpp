// SPDX-License-Identifier: Apache-2.0
#include "http/server/target.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace codeq::http {

namespace {

/// Appends the decoded text to `out`; false for a malformed escape. A plus is a space only in
/// queries.
bool decode_percent(std::string_view text, bool is_query, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && is_query) {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned code = 0;
    if (text.size() - i < 3)
      return false;
    const auto* begin = text.data() + i + 1;
    auto [end, failure] = std::from_chars(begin, begin + 2, code, 16);
    if (failure != std::errc{} || end != begin + 2 || code == 0)
      return false;
    out += static_cast<char>(code);
    i += 2;
  }
  return true;
}

/// Calls `take(part)` for each part of `text` between separators; false when one call returns
/// false.
template <class Take>
bool each_part(std::string_view text, char separator, Take take) {
  while (true) {
    auto end = text.find(separator);
    if (!take(text.substr(0, end)))
      return false;
    if (end == std::string_view::npos)
      return true;
    text.remove_prefix(end + 1);
  }
}

bool read_query(std::string_view text, request& to) {
  return each_part(text, '&', [&](std::string_view pair) {
    if (pair.empty())
      return true;
    auto equals = pair.find('=');
    std::string name;
    std::string value;
    if (!decode_percent(pair.substr(0, equals), true, name))
      return false;
    if (equals != std::string_view::npos && !decode_percent(pair.substr(equals + 1), true, value))
      return false;
    if (!to.query.emplace(name, std::move(value)).second)
      to.repeated_parameter = std::move(name);
    return true;
  });
}

bool starts_with_ignoring_case(std::string_view text, std::string_view start) noexcept {
  auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a))
           == std::tolower(static_cast<unsigned char>(b));
  };
  return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin(), same);
}

bool ends_with(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

} // namespace

bool read_target(std::string_view target, request& to) {
  if (target.empty() || target.front() != '/' || target.find('\0') != std::string_view::npos)
    return false;
  auto mark = target.find('?');
  auto path = target.substr(1, mark == std::string_view::npos ? mark : mark - 1);
  if (mark != std::string_view::npos && !read_query(target.substr(mark + 1), to))
    return false;
  if (path.empty())
    return true;
  return each_part(path, '/', [&](std::string_view part) {
    return decode_percent(part, false, to.path.emplace_back());
  });
}

std::string_view bearer_of(std::string_view authorization) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (!starts_with_ignoring_case(authorization, scheme))
    return {};
  authorization.remove_prefix(scheme.size());
  while (!authorization.empty() && authorization.front() == ' ')
    authorization.remove_prefix(1);
  return authorization;
}

bool is_loopback_host(std::string_view host) noexcept {
  if (!host.empty() && host.front() == '[')
    host = host.substr(0, host.find(']') + 1);
  else
    host = host.substr(0, host.find(':'));
  if (host == "[::1]" || host == "localhost")
    return true;
  auto is_address_character = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
  return host.substr(0, 4) == "127." && std::all_of(host.begin(), host.end(), is_address_character);
}

bool is_loopback_origin(std::string_view origin) noexcept {
  auto end = origin.find("://");
  return end != std::string_view::npos && is_loopback_host(origin.substr(end + 3));
}

std::size_t body_bytes_max(std::string_view target) noexcept {
  auto path = target.substr(0, target.find('?'));
  bool is_batch = ends_with(path, "/tasks/batch") || ends_with(path, "/tasks/batch/results");
  return is_batch ? limits::http_batch_body_bytes_max : limits::http_body_bytes_max;
}

std::optional<std::string> usable_request_id(std::string_view given) {
  auto is_usable = [](char c) { return c > ' ' && c < 127; };
  bool fits = !given.empty() && given.size() <= limits::http_request_id_bytes_max;
  if (!fits || !std::all_of(given.begin(), given.end(), is_usable))
    return std::nullopt;
  return std::string(given);
}

} // namespace codeq::http
