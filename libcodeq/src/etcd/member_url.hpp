// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::etcd {

/// Where a member of etcd serves clients.
struct member_url {
  /// True for `https`.
  bool is_secured = false;
  /// A name, or an address without brackets.
  std::string host;
  std::string port;

  bool operator==(const member_url&) const = default;
};

/// Called with a reason when a member is found to belong to another etcd than the known one, and
/// without a reason when it belongs to the known one again.
using member_changed = std::function<void(const member_url&, const std::string& foreign_because)>;

/// `http[s]://HOST:PORT`, the value of the `Host` field without the scheme.
[[nodiscard]] std::string to_string(const member_url& url);
[[nodiscard]] std::string host_and_port(const member_url& url);

/// Reads `http[s]://HOST[:PORT]`; the port is 2379 unless given. Errors: `invalid_argument`.
[[nodiscard]] result<member_url> parse_member_url(std::string_view text);

/// Reads 1 to `limits::members_max` URLs, separated by commas: different ones, all with TLS or
/// none. Errors: `invalid_argument`.
[[nodiscard]] result<std::vector<member_url>> parse_member_urls(std::string_view text);

} // namespace codeq::etcd
