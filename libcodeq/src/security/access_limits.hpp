// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>

/// Limits of tokens and token files, in addition to `codeq/limits.hpp`.
namespace codeq::limits {

inline constexpr std::size_t bearer_bytes_max = 512;
inline constexpr std::size_t token_random_bytes = 32;
inline constexpr std::size_t tokens_max = 10'000;
inline constexpr std::size_t queues_per_token_max = 1000;
inline constexpr std::size_t token_file_bytes_max = 16u << 20;
/// Maximum rate per second, and maximum burst.
inline constexpr std::uint32_t rate_max = 10'000'000;

} // namespace codeq::limits
