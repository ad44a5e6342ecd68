// SPDX-License-Identifier: Apache-2.0
#include "core/state/name_index.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace codeq::core {

namespace {

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

} // namespace

name_hash name_hasher::of_group(std::uint32_t queue, std::string_view group) const noexcept {
  return hash_of(group, XXH3_64bits_withSeed(&queue, sizeof queue, seed_));
}

name_hash name_hasher::of_key(
  std::uint32_t queue, std::string_view group, std::string_view name) const noexcept {
  return hash_of(name, of_group(queue, group));
}

} // namespace codeq::core
