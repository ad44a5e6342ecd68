// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "storage/retention/retention_filter.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// The bytes of a horizon, as deltas carry them to the other replicas of a shard: `through`, u64,
/// and `at` in milliseconds, i64, both little-endian; one byte, 1 when the held outcomes follow;
/// and their distances from the one before as varints, seven bits a byte from the lowest on.
namespace codeq::storage {

/// A horizon is packed with its held outcomes up to so many bytes, and else without them.
inline constexpr std::size_t packed_horizon_bytes_max = 4u << 20;

/// Linear in the number of held outcomes.
[[nodiscard]] std::string pack(const shard_horizon& horizon);

/// Errors: `corruption`.
[[nodiscard]] result<shard_horizon> unpack_horizon(std::string_view packed, shard_id shard);

} // namespace codeq::storage
