// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>
#include <string_view>

namespace codeq::core {

/// The shard of an enqueue request that names no key and no group. A function of the request alone,
/// so that its retry goes to the shard that may have it; consecutive requests go round the shards.
/// @pre shard_count > 0
[[nodiscard]] constexpr shard_id shard_of_request(
  const producer_id& producer, std::uint64_t number, std::uint16_t shard_count) noexcept {
  return static_cast<shard_id>((producer.low + number) % shard_count);
}

/// The shard of a task that names a group, or else a key: `name` is that one. Fixed for ever, since
/// it says where a key's record is: FNV-1a (64 bits) over tenant, queue and name with a zero byte
/// behind the first two, folded by the finaliser of MurmurHash3. @pre shard_count > 0
[[nodiscard]] shard_id shard_of_name(
  const queue_address& queue, std::string_view name, std::uint16_t shard_count) noexcept;

} // namespace codeq::core
