// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::security {

/// What a token lets its bearer do. An admin may do everything that a producer may.
enum class role : std::uint8_t { producer, worker, admin };

/// What is counted apart for a token: tasks enqueued, tasks claimed, requests of operators.
enum class rate_scope : std::uint8_t { producer, claim, admin };

inline constexpr std::size_t rate_scopes = 3;

/// A token bucket.
struct rate {
  /// 0 is no limit.
  std::uint32_t per_second = 0;
  /// What may come at once after a pause; at least 1 when there is a limit.
  std::uint32_t burst = 0;

  friend bool operator==(const rate&, const rate&) = default;
};

/// The SHA-256 of a token: names it without telling it.
using token_digest = std::array<std::uint8_t, 32>;

/// Stands for every tenant, or for every queue of the tenant.
inline constexpr std::string_view everything = "*";

/// Whoever bears a token. Immutable and shared.
struct principal {
  token_digest token{};
  /// Whom the token was given to, for logs; a valid name.
  std::string subject;
  /// A valid name, or `*`, which only an admin can have.
  std::string tenant;
  security::role role = security::role::producer;
  /// What a worker may claim: names, or `*` alone. Empty for others.
  std::vector<std::string> queues;
  /// By `rate_scope`.
  std::array<rate, rate_scopes> rates{};

  friend bool operator==(const principal&, const principal&) = default;

  [[nodiscard]] bool is_of_all_tenants() const noexcept { return tenant == everything; }

  /// True when what belongs to `owner` may be seen and changed as far as the role allows it.
  [[nodiscard]] bool sees(std::string_view owner) const noexcept {
    return is_of_all_tenants() || tenant == owner;
  }

  /// True when tasks of the queue may be claimed, kept and reported.
  [[nodiscard]] bool may_claim(const queue_address& queue) const {
    auto fits = [&](const std::string& one) { return one == everything || one == queue.queue; };
    return role == role::worker && sees(queue.tenant)
           && std::any_of(queues.begin(), queues.end(), fits);
  }

  /// True when tasks may be enqueued, looked at, cancelled and promoted.
  [[nodiscard]] bool may_produce() const noexcept { return role != role::worker; }

  /// True when queues may be changed and tasks listed, redriven, purged and forced.
  [[nodiscard]] bool may_operate() const noexcept { return role == role::admin; }

  [[nodiscard]] const rate& rate_of(rate_scope scope) const noexcept {
    return rates[static_cast<std::size_t>(scope)];
  }
};

} // namespace codeq::security
