// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/event.hpp"

#include <string>
#include <string_view>

/// Records of dead tasks, and the lifetimes of records of ended tasks. Decoding errors are
/// `corruption`.
namespace codeq::storage {

/// Why a task is dead.
struct dead_record {
  timestamp at;
  std::uint16_t attempt = 0;
  fencing_token token{};
  bytes text;
};

/// @pre `end` is the death of its task, at the shard time `at`
[[nodiscard]] std::string encode_death(const core::lease_end& end, timestamp at);
[[nodiscard]] result<dead_record> decode_death(std::string_view value);

/// How long a record is kept.
struct record_lifetime {
  /// Position in the shard's log.
  core::log_position position = 0;
  timestamp since;
  /// 0: for ever.
  duration retention{0};

  [[nodiscard]] bool is_past(timestamp now) const noexcept {
    return retention != duration{0} && now - since >= retention;
  }
};

[[nodiscard]] result<record_lifetime> decode_outcome_lifetime(std::string_view value);
[[nodiscard]] result<record_lifetime> decode_fate_lifetime(std::string_view value);

} // namespace codeq::storage
