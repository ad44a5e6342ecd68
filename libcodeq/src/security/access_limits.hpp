// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>

/// Limits of tokens and token files, in addition to `codeq/limits.hpp`.
namespace codeq::limits {

/// The limit of tokens and JWTs. A hello, which has 4 KiB, also has the names of queues.
inline constexpr std::size_t bearer_bytes_max = 3u << 10;
inline constexpr std::size_t token_random_bytes = 32;
inline constexpr std::size_t tokens_max = 10'000;
inline constexpr std::size_t queues_per_token_max = 1000;
inline constexpr std::size_t token_file_bytes_max = 16u << 20;
/// The longest lifetime that a token can be given, and the longest overlap of a rotation.
inline constexpr duration token_lifetime_max = std::chrono::hours(24) * 3650;

// JSON web tokens and the sets of keys that verify them.
inline constexpr std::size_t jwt_header_bytes_max = 1024;
inline constexpr std::size_t jwks_bytes_max = 256u << 10;
inline constexpr std::size_t jwks_keys_max = 100;
inline constexpr std::size_t jwks_key_id_bytes_max = 256;
/// Nesting of claims and of a set of keys.
inline constexpr std::size_t jwt_json_depth_max = 8;
inline constexpr std::size_t rsa_key_bits_min = 2048;
inline constexpr std::size_t rsa_key_bits_max = 8192;
/// How far the clocks of the issuer and of this machine may be apart.
inline constexpr duration jwt_leeway = std::chrono::seconds(30);
inline constexpr duration jwks_fetch_timeout = std::chrono::seconds(5);
/// Minimum time between two refreshes, however many tokens name an unknown key.
inline constexpr duration jwks_refresh_pause = std::chrono::seconds(30);
/// Maximum number of JWTs whose signature is remembered as verified.
inline constexpr std::size_t verified_jwts_max = 4096;
/// Minimum time between two log lines about tokens that were refused for one reason.
inline constexpr duration refused_token_line_interval = std::chrono::minutes(1);

/// Maximum rate per second, and maximum burst.
inline constexpr std::uint32_t rate_max = 10'000'000;

} // namespace codeq::limits
