// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/encoded_tasks.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

/// Records of the headers of a segment's tasks. Decoding errors are `corruption`.
namespace codeq::storage {

/// False when a task's body certainly has no headers. Looks at two words, since every body passes
/// here.
[[nodiscard]] bool may_have_headers(std::string_view body) noexcept;

/// The record of these tasks, the first of which has index 0; empty when none has headers, which
/// needs no record.
[[nodiscard]] std::string
encode_headers(std::span<const core::encoded_tasks> pieces, timestamp at);

[[nodiscard]] result<timestamp> decode_headers_time(std::string_view value);

/// True when the task with that index has all of the `wanted` headers with these values.
[[nodiscard]] result<bool> has_headers(
  std::string_view value,
  std::uint32_t index,
  const std::map<std::string, std::string>& wanted);

} // namespace codeq::storage
