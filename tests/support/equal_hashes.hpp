// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

namespace codeq::test {

// The second name was computed from the hash of the first: XXH3 maps texts of eight bytes one to
// one. Valid for a shard's first queue, and a seed of 0.

inline constexpr std::pair<std::string_view, std::string_view> equal_groups{
  "g", "\xcb\x06\x43\xa3\xa3\x85\x43\x80"};

inline constexpr std::pair<std::string_view, std::string_view> equal_keys{
  "x", "\xe0\xb9\xa4\xcc\xbb<_\x17"};

} // namespace codeq::test
