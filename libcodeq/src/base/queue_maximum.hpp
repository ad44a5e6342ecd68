// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/queue.hpp"

#include <cstdint>
#include <limits>

namespace codeq::base {

/// Each shard's part of a maximum that is divided, rounded up. @pre shards > 0
[[nodiscard]] constexpr std::uint64_t
part_of_maximum(std::uint64_t whole, std::uint32_t shards) noexcept {
  return whole / shards + (whole % shards != 0 ? 1 : 0);
}

/// The maximum that a part of it stands for: `known`, if it is the part of that, and else as much
/// as it allowed on all shards. @pre shards > 0
[[nodiscard]] constexpr std::uint64_t
whole_of_part(std::uint64_t part, std::uint32_t shards, std::uint64_t known) noexcept {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  const auto all = part > most / shards ? most : part * shards;
  return part == part_of_maximum(known, shards) ? known : all;
}

/// Completes the maxima of a queue and their parts, of which older versions write only the parts.
/// `known`: the queue's maxima before. @pre shards > 0
inline void complete_maxima(
  queue_config& config, std::uint32_t shards, const queue_config& known = {}) noexcept {
  if (config.max_leased == 0 && config.max_leased_part != 0)
    config.max_leased = whole_of_part(config.max_leased_part, shards, known.max_leased);
  if (config.max_depth == 0 && config.max_depth_part != 0)
    config.max_depth = whole_of_part(config.max_depth_part, shards, known.max_depth);
  config.max_leased_part = part_of_maximum(config.max_leased, shards);
  config.max_depth_part = part_of_maximum(config.max_depth, shards);
}

} // namespace codeq::base
