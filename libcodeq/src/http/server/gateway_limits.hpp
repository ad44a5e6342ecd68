// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>

/// The limits of the gateway's inside, beside those of `codeq/limits.hpp`.
namespace codeq::limits {

/// Of one JSON object that is read, and of one array whose elements are looked at.
inline constexpr std::size_t http_json_members_max = 4096;
/// Of all answers that are being written.
inline constexpr std::size_t http_answers_bytes_max = 128u << 20;
/// Payloads that are looked up at once; more requests for one wait for their turn.
inline constexpr std::size_t http_bodies_read_max = 32;
inline constexpr duration http_tls_handshake_max = std::chrono::seconds(5);
/// Connections without a request that shows a valid token yet; one more takes another's place.
inline constexpr std::size_t http_unauthenticated_connections_max = 1024;
/// From the arrival of a request to its answer, beside the time that its client asked to wait.
inline constexpr duration http_request_time_max = std::chrono::seconds(30);
/// How long the answer of a request whose client closed its connection is still waited for. A
/// client that closes only its sending side may still read the answer.
inline constexpr duration http_gone_grace = std::chrono::seconds(1);
/// Enqueues of one tenant that are not answered yet; each task of a batch is one.
inline constexpr std::size_t http_enqueues_open_max = 4096;
/// Of a refused request, read and dropped after the refusal is written. A socket that is closed
/// before would be reset, and a client that still sends would lose the refusal.
inline constexpr std::size_t http_drain_bytes_max = 64u << 20;
inline constexpr duration http_drain_time_max = std::chrono::seconds(10);

// Webhooks.
/// Of all tenants, which share them fairly: one tenant gets half at most.
inline constexpr std::size_t webhooks_open_max = 200'000;
/// Deliveries under way at once, shared in the same way.
inline constexpr std::size_t webhook_flights_max = 128;
/// Of one tenant to one host.
inline constexpr std::size_t webhook_flights_per_host_max = 16;
/// Hosts looked up at once, shared in the same way.
inline constexpr std::size_t resolver_threads_max = 32;
inline constexpr std::size_t webhook_answer_bytes_max = 64u << 10;
inline constexpr duration webhook_timeout = std::chrono::seconds(10);
inline constexpr duration webhook_retry_min = std::chrono::seconds(1);
inline constexpr duration webhook_retry_max = std::chrono::minutes(15);
/// About 17 hours of them, so that a task with the usual retention is still there.
inline constexpr std::uint32_t webhook_attempts_max = 100;
inline constexpr duration webhook_dead_retention = std::chrono::hours(7 * 24);

} // namespace codeq::limits
