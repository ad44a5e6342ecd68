// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace codeq::base {

/// An error of `invalid_argument`; `text` names the field, its value and its limit.
[[nodiscard]] inline error wrong(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

/// True for failures of the system that a later attempt meets again until a person changes
/// something: a wrong path, or a right that is missing.
[[nodiscard]] inline bool is_lasting(const std::error_code& failure) {
  return failure == std::errc::permission_denied || failure == std::errc::read_only_file_system
         || failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory
         || failure == std::errc::is_a_directory || failure == std::errc::file_exists;
}

/// An error of `unauthorized`; `why` says of a token what is wrong.
[[nodiscard]] inline error refused(std::string why) {
  return {errc::unauthorized, std::move(why)};
}

/// "shard 3" or "shards 3, 7".
[[nodiscard]] inline std::string shards_text(const std::vector<shard_id>& shards) {
  std::string text = shards.size() == 1 ? "shard " : "shards ";
  for (std::size_t i = 0; i < shards.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(value(shards[i]));
  return text;
}

/// Ends the error of a change that failed before it had any effect.
inline constexpr std::string_view nothing_changed = "; nothing was changed";

// Words by which clients recognize a refusal, to add which option or field helps. Nodes of other
// versions write and read them, so they never change.

/// A coordinator got no token.
inline constexpr std::string_view token_required_words = "requires a token";
/// A token is for another tenant than the request.
inline constexpr std::string_view other_tenant_words = "the token is for tenant ";
/// A token may neither administrate nor inspect.
inline constexpr std::string_view inspectors_only_words = "an admin's or a reader's";
/// A worker's token does not cover a queue.
inline constexpr std::string_view no_claim_words = " does not allow to claim from ";
/// The address is that of a gateway.
inline constexpr std::string_view http_peer_words = "the peer speaks HTTP";

/// True for an error of `unauthorized` with these words.
[[nodiscard]] inline bool is_refused_with(const error& reason, std::string_view words) {
  return reason.code == errc::unauthorized && reason.context.find(words) != std::string::npos;
}

} // namespace codeq::base
