// SPDX-License-Identifier: Apache-2.0
#include "etcd/member_url.hpp"

#include "etcd/etcd_limits.hpp"

#include <algorithm>

namespace codeq::etcd {

namespace {

constexpr std::size_t url_bytes_max = 300;

error refuse(std::string_view text, std::string_view why) {
  auto shown = std::string(text.substr(0, url_bytes_max));
  return {errc::invalid_argument, "etcd URL '" + shown + "': " + std::string(why)};
}

bool is_port(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), is_digit))
    return false;
  const auto number = std::stoul(std::string(text));
  return number >= 1 && number <= 65535;
}

bool is_host(std::string_view text, bool is_bracketed) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [is_bracketed](char c) {
    const auto is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                          || c == '.' || c == '-' || c == '_';
    return is_plain || (is_bracketed && c == ':');
  });
}

} // namespace

std::string host_and_port(const member_url& url) {
  const auto is_v6 = url.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + url.host + "]" : url.host) + ":" + url.port;
}

std::string to_string(const member_url& url) {
  return (url.is_secured ? "https://" : "http://") + host_and_port(url);
}

result<member_url> parse_member_url(std::string_view text) {
  const auto whole = text;
  member_url url;
  if (text.size() > url_bytes_max)
    return refuse(whole, "longer than " + std::to_string(url_bytes_max) + " bytes");
  if (text.starts_with("https://"))
    url.is_secured = true;
  else if (!text.starts_with("http://"))
    return refuse(whole, "has to begin with http:// or https://");
  text.remove_prefix(url.is_secured ? 8 : 7);
  if (text.ends_with('/'))
    text.remove_suffix(1);
  const auto is_bracketed = text.starts_with('[');
  const auto host_end = is_bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (host_end == std::string_view::npos)
    return refuse(whole, "the address has no closing bracket");
  const auto skipped = is_bracketed ? 1u : 0u;
  url.host = text.substr(skipped, host_end - skipped);
  text.remove_prefix(host_end + skipped);
  if (!is_host(url.host, is_bracketed))
    return refuse(whole, "the host may have letters, digits and '.-_' only; no path, no user");
  url.port = "2379";
  if (text.empty())
    return url;
  if (!text.starts_with(':') || !is_port(text.substr(1)))
    return refuse(whole, "the host is followed by a port from 1 to 65535, or by nothing");
  url.port = text.substr(1);
  return url;
}

result<std::vector<member_url>> parse_member_urls(std::string_view text) {
  std::vector<member_url> urls;
  while (true) {
    const auto end = std::min(text.find(','), text.size());
    auto url = parse_member_url(text.substr(0, end));
    if (!url)
      return url.error();
    if (std::find(urls.begin(), urls.end(), *url) != urls.end())
      return refuse(text.substr(0, end), "given twice");
    if (!urls.empty() && urls.front().is_secured != url->is_secured)
      return refuse(text.substr(0, end), "all members use https, or none does");
    urls.push_back(std::move(*url));
    if (urls.size() > limits::members_max)
      return error{
        errc::invalid_argument,
        "more than " + std::to_string(limits::members_max) + " URLs of etcd"};
    if (end == text.size())
      return urls;
    text.remove_prefix(end + 1);
  }
}

} // namespace codeq::etcd
