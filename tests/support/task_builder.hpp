// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"

#include "core/commands/encoded_tasks.hpp"

#include <cstdint>
#include <string>

namespace codeq::test {

/// Bodies of equal size, each filled with one letter; no decision depends on them.
[[nodiscard]] inline core::encoded_tasks encode_bodies(std::size_t count, std::size_t size) {
  std::string body;
  for (std::size_t i = 0; i < count; ++i)
    body.append(size, static_cast<char>('a' + i % 26));
  return {
    bytes(std::move(body)), std::vector<std::uint32_t>(count, static_cast<std::uint32_t>(size))};
}

} // namespace codeq::test
