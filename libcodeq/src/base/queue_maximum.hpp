// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include <cstdint>
#include <limits>

namespace codeq::base {

/// Each shard's part of a maximum that is divided, rounded up. @pre shards > 0
[[nodiscard]] constexpr std::uint64_t
part_of_maximum(std::uint64_t whole, std::uint32_t shards) noexcept {
  return whole / shards + (whole % shards != 0 ? 1 : 0);
}

/// Completes `max_leased` and `max_leased_part`, of which older versions write only the part: it
/// then stands for `known`, if it is the part of that, and else for as many leases as it allowed.
/// @pre shards > 0
inline void complete_max_leased(
  queue_config& config, std::uint32_t shards, std::uint64_t known = 0) noexcept {
  const auto part = config.max_leased_part;
  if (config.max_leased == 0 && part != 0) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const auto all = part > most / shards ? most : part * shards;
    config.max_leased = part == part_of_maximum(known, shards) ? known : all;
  }
  config.max_leased_part = part_of_maximum(config.max_leased, shards);
}

} // namespace codeq::base
