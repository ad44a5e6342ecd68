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

/// The rights of a token. An admin has all rights of a producer.
enum class role : std::uint8_t { producer, worker, admin };

/// Operations that are rate-limited separately: enqueued tasks, claimed tasks, operator requests.
enum class rate_scope : std::uint8_t { producer, claim, admin };

inline constexpr std::size_t rate_scopes = 3;

/// Parameters of a token bucket.
struct rate {
  /// 0: unlimited.
  std::uint32_t per_second = 0;
  /// Maximum amount at once after a pause; at least 1 when there is a limit.
  std::uint32_t burst = 0;

  friend bool operator==(const rate&, const rate&) = default;
};

/// The SHA-256 of a token: identifies it without revealing it.
using token_digest = std::array<std::uint8_t, 32>;

/// Means every tenant, or every queue of the tenant.
inline constexpr std::string_view everything = "*";

/// The bearer of a token. Immutable and shared.
struct principal {
  token_digest token{};
  /// The holder's name, for logs. A valid name.
  std::string subject;
  /// A valid name, or `*`, which only an admin can have.
  std::string tenant;
  security::role role = security::role::producer;
  /// Queues that a worker may claim from: names, or `*` alone. Empty for other roles.
  std::vector<std::string> queues;
  /// Indexed by `rate_scope`.
  std::array<rate, rate_scopes> rates{};

  friend bool operator==(const principal&, const principal&) = default;

  [[nodiscard]] bool is_of_all_tenants() const noexcept { return tenant == everything; }

  /// True when the bearer may access data of tenant `owner`, as far as its role allows.
  [[nodiscard]] bool sees(std::string_view owner) const noexcept {
    return is_of_all_tenants() || tenant == owner;
  }

  /// True when the bearer may claim, extend and report tasks of the queue.
  [[nodiscard]] bool may_claim(const queue_address& queue) const {
    auto fits = [&](const std::string& one) { return one == everything || one == queue.queue; };
    return role == role::worker && sees(queue.tenant)
           && std::any_of(queues.begin(), queues.end(), fits);
  }

  /// True when the bearer may enqueue, read, cancel and promote tasks.
  [[nodiscard]] bool may_produce() const noexcept { return role != role::worker; }

  /// True when the bearer may configure queues and list, redrive, purge and force tasks.
  [[nodiscard]] bool may_operate() const noexcept { return role == role::admin; }

  [[nodiscard]] const rate& rate_of(rate_scope scope) const noexcept {
    return rates[static_cast<std::size_t>(scope)];
  }
};

} // namespace codeq::security
