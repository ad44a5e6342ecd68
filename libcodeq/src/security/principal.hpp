// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "security/scope_set.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::security {

/// The rights of a token. An admin has all rights of a producer. A reader may read what a producer
/// and an admin may, and changes nothing. The bearer of a metrics token may read the metrics of the
/// process and nothing else.
enum class role : std::uint8_t { producer, worker, admin, producer_worker, reader, metrics };

inline constexpr std::array all_roles{
  role::producer, role::worker, role::admin, role::producer_worker, role::reader, role::metrics};

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
  /// Identifies the bearer for rates. Of a JWT: the digest of issuer, subject, tenant and role, so
  /// that a renewed JWT has the same.
  token_digest token{};
  /// The holder's name, for logs. A valid name.
  std::string subject;
  /// A valid name, or `*`, which only an admin, a reader and a metrics token can have.
  std::string tenant;
  security::role role = security::role::producer;
  /// Queues that a worker may use: names, or `*` alone. Empty for other roles.
  std::vector<std::string> queues;
  /// The operations of a worker that the token allows.
  scope_set scopes = scope_set::all();
  /// The wall-clock time from which on the token is refused; empty: never.
  std::optional<timestamp> expires{};
  /// The digest of the key that signed a JWT; empty for a token of the token file.
  std::optional<token_digest> signing_key{};
  /// Indexed by `rate_scope`.
  std::array<rate, rate_scopes> rates{};

  friend bool operator==(const principal&, const principal&) = default;

  [[nodiscard]] bool is_of_all_tenants() const noexcept { return tenant == everything; }

  /// True when the bearer may access data of tenant `owner`, as far as its role allows.
  [[nodiscard]] bool sees(std::string_view owner) const noexcept {
    return is_of_all_tenants() || tenant == owner;
  }

  [[nodiscard]] bool is_expired(timestamp now) const noexcept {
    return expires && now >= *expires;
  }

  /// True for the roles that have queues.
  [[nodiscard]] bool may_work() const noexcept {
    return role == role::worker || role == role::producer_worker;
  }

  /// True when a worker is not limited to some queues.
  [[nodiscard]] bool claims_from_all() const {
    return queues.size() == 1 && queues.front() == everything;
  }

  /// True when the bearer may access tasks of the queue, as far as its role allows. The queues of a
  /// worker limit all that its token allows.
  [[nodiscard]] bool may_use(const queue_address& queue) const {
    bool is_named = !may_work() || claims_from_all()
                    || std::find(queues.begin(), queues.end(), queue.queue) != queues.end();
    return is_named && sees(queue.tenant);
  }

  /// True when the bearer may claim, extend and report tasks of the queue.
  [[nodiscard]] bool may_claim(const queue_address& queue) const {
    return may_work() && may_use(queue);
  }

  /// True when the bearer may enqueue, cancel and promote tasks.
  [[nodiscard]] bool may_produce() const noexcept {
    return role == role::producer || role == role::admin || role == role::producer_worker;
  }

  /// True when the bearer may read tasks beyond those that it claims.
  [[nodiscard]] bool may_read() const noexcept { return may_produce() || role == role::reader; }

  /// True when the bearer may configure queues, and redrive, purge and force tasks.
  [[nodiscard]] bool may_operate() const noexcept { return role == role::admin; }

  /// True when the bearer may read what only operators read: settings, lists and counts.
  [[nodiscard]] bool may_inspect() const noexcept { return may_operate() || role == role::reader; }

  [[nodiscard]] const rate& rate_of(rate_scope scope) const noexcept {
    return rates[static_cast<std::size_t>(scope)];
  }
};

} // namespace codeq::security
