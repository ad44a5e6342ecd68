// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace codeq {

/// Number of a shard in the cluster, from 0.
enum class shard_id : std::uint16_t {};

/// Number of a task within its shard; never reused.
using sequence = std::uint64_t;

/// Identifies the lease that a report belongs to: epoch (24 bits) and counter (39 bits), below
/// 2^63. Strictly increasing per shard for its whole life; comparable within one task or group.
enum class fencing_token : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t value(fencing_token token) noexcept {
  return static_cast<std::uint64_t>(token);
}

[[nodiscard]] constexpr std::uint16_t value(shard_id shard) noexcept {
  return static_cast<std::uint16_t>(shard);
}

/// Identifies a task for ever within its store; another store may give the same id to a task of its
/// own. Assigned by its shard; requests are routed by it.
struct task_id {
  shard_id shard{};
  sequence seq = 0;

  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// UUID-shaped text of sequence (s), check (c) and shard (h):
/// `ssssssss-ssss-ssss-ccc0-hhhh00000000`. Opaque to users.
[[nodiscard]] std::string to_string(const task_id& id);

/// Parses the output of `to_string`; empty when the shape or the check digit is wrong.
[[nodiscard]] std::optional<task_id> parse_task_id(std::string_view text);

/// A producer's session; chosen by the producer, and globally unique.
struct producer_id {
  /// The upper 48 bits are the session's creation time in milliseconds since 1970; the lower 16 are
  /// random. 0: an internal session of the coordinator, which never expires and which clients may
  /// not use.
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const producer_id&, const producer_id&) = default;
};

/// The id of a session created at shard time `created`. @pre `created` is after 1970
[[nodiscard]] constexpr producer_id
make_producer_id(timestamp created, std::uint16_t random_high, std::uint64_t random_low) noexcept {
  auto ms = static_cast<std::uint64_t>(created.time_since_epoch().count());
  return {ms << 16 | random_high, random_low};
}

/// When the session was created, according to its producer.
[[nodiscard]] constexpr timestamp created_at(const producer_id& producer) noexcept {
  return timestamp{duration{static_cast<duration::rep>(producer.high >> 16)}};
}

/// True for an internal session of the coordinator.
[[nodiscard]] constexpr bool is_internal(const producer_id& producer) noexcept {
  return producer.high == 0;
}

/// A worker process: the name its operator gave it, and a random number per start.
struct worker_identity {
  std::string name;
  std::uint64_t incarnation = 0;

  friend auto operator<=>(const worker_identity&, const worker_identity&) = default;
};

/// A queue within its tenant; both `[A-Za-z0-9._-]{1,128}`, as in `{.queue = "mail"}`.
struct queue_address {
  std::string tenant = "default";
  std::string queue{};

  friend auto operator<=>(const queue_address&, const queue_address&) = default;
};

/// True when `text` may name a tenant, queue or worker: `[A-Za-z0-9._-]{1,128}`.
[[nodiscard]] bool is_valid_name(std::string_view text) noexcept;

} // namespace codeq

template <>
struct std::hash<codeq::task_id> {
  std::size_t operator()(const codeq::task_id& id) const noexcept {
    // Tasks end in about the order of their sequences: neighbours share a cache line of buckets.
    return static_cast<std::size_t>(id.seq + codeq::value(id.shard) * 0x9E3779B97F4A7C15ull);
  }
};

template <>
struct std::hash<codeq::producer_id> {
  std::size_t operator()(const codeq::producer_id& id) const noexcept {
    return static_cast<std::size_t>(id.high ^ id.low * 0x9E3779B97F4A7C15ull);
  }
};

template <>
struct std::hash<codeq::worker_identity> {
  std::size_t operator()(const codeq::worker_identity& id) const noexcept {
    return std::hash<std::string>{}(id.name) ^ static_cast<std::size_t>(id.incarnation);
  }
};

template <>
struct std::hash<codeq::queue_address> {
  std::size_t operator()(const codeq::queue_address& address) const noexcept {
    return std::hash<std::string>{}(address.queue) * 31 + std::hash<std::string>{}(address.tenant);
  }
};
