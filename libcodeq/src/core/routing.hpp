// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>

namespace codeq::core {

/// The shard of an enqueue request that names no key and no group. A function of the request alone,
/// so that its retry goes to the shard that may have it; consecutive requests go round the shards.
/// @pre shard_count > 0
[[nodiscard]] constexpr shard_id shard_of_request(
  const producer_id& producer, std::uint64_t number, std::uint16_t shard_count) noexcept {
  return static_cast<shard_id>((producer.low + number) % shard_count);
}

} // namespace codeq::core
