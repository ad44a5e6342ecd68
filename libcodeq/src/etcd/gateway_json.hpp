// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "etcd/messages.hpp"

#include <string>
#include <string_view>
#include <variant>

/// Requests and answers as etcd's JSON gateway spells them; pure. Binary data is base64, and 64-bit
/// numbers are text. Fields that are zero or empty are left out by etcd.
namespace codeq::etcd {

/// An HTTP request of the gateway; always a POST.
struct gateway_request {
  std::string target;
  std::string body;
};

struct gateway_answer {
  unsigned status = 0;
  std::string body;
};

/// An answer that is no success.
struct gateway_refusal {
  /// No other member would answer differently.
  bool is_final = false;
  /// For an operator.
  std::string words;
};

template <class Answer>
using gateway_reading = std::variant<Answer, gateway_refusal>;

[[nodiscard]] gateway_request to_request(const swap& what);
/// One page, from `first` on.
[[nodiscard]] gateway_request to_request(const key_range& what, std::string_view first);
[[nodiscard]] gateway_request grant_request(duration length);
[[nodiscard]] gateway_request keep_alive_request(std::uint64_t lease);
[[nodiscard]] gateway_request revoke_request(std::uint64_t lease);
/// `revision`: the first one to be told; 0: from now on.
[[nodiscard]] gateway_request watch_request(const key_range& what, std::uint64_t revision);

[[nodiscard]] gateway_reading<decision>
read_decision(const gateway_answer& answer, const swap& asked);
[[nodiscard]] gateway_reading<range_answer> read_range(const gateway_answer& answer);
[[nodiscard]] gateway_reading<lease_answer> read_grant(const gateway_answer& answer);
[[nodiscard]] gateway_reading<lease_answer> read_keep_alive(const gateway_answer& answer);
/// A lease that is not there any more counts as revoked.
[[nodiscard]] gateway_reading<lease_answer> read_revoke(const gateway_answer& answer);
/// Errors: `protocol_error`; `unavailable` when etcd tells an error.
[[nodiscard]] result<watch_line> read_watch_line(std::string_view line);

/// Checks that key and values are within the limits. Errors: `too_large`, `invalid_argument`.
[[nodiscard]] result<void> check(const swap& what);

} // namespace codeq::etcd
