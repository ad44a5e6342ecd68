// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// Which of several subscribers is woken.
enum class delivery_mode : std::uint8_t {
  fanout, ///< Each one.
  group,  ///< One of its group, in turn.
  hash,   ///< The member of its group that a hash of the queue's name chooses.
};

/// In the order of `delivery_mode`.
inline constexpr auto delivery_modes = std::to_array<std::string_view>({"fanout", "group", "hash"});

/// A worker's wish to be called when tasks are ready.
struct subscription {
  std::string id;
  std::string tenant;
  /// The subject of the token that subscribed, which alone may renew it.
  std::string subject;
  /// Where the wake-ups are sent.
  std::string url;
  /// Sorted; empty stands for every queue of the tenant.
  std::vector<std::string> queues{};
  delivery_mode mode = delivery_mode::fanout;
  /// The group that shares the wake-ups; used by the modes `group` and `hash`.
  std::string group{};
  /// The least time between two wake-ups.
  duration min_interval{0};
  /// How long it stays valid after each renewal.
  duration ttl{0};
  /// Shard time.
  timestamp expires_at{};

  [[nodiscard]] bool wants(const std::string& queue) const;
};

/// The tenant of the records of subscriptions. No token of a tenant can see it, unless an operator
/// created a token for its name.
inline constexpr auto subscriptions_tenant = "codeq.subscriptions";

/// The same for wishes.
inline constexpr auto subscription_wishes_tenant = "codeq.subscription-wishes";

/// The task that stores a subscription.
[[nodiscard]] task_spec record_of(const subscription& s);

/// The text under which a subscription is stored.
[[nodiscard]] std::string to_record(const subscription& s);

/// Reads it; the tenant is not in it. Errors: `corruption`.
[[nodiscard]] result<subscription> read_subscription(std::string_view record);

/// A change of a subscription that another coordinator has, or is to have.
struct subscription_wish {
  /// A new one but for the time when it expires, or one to renew: then only its id, tenant, subject
  /// and `ttl` count, and a `ttl` of zero leaves that as it is.
  subscription what;
  bool is_new = false;
  timestamp at{};
};

/// The text of a wish; see `wish_task`.
[[nodiscard]] std::string to_wish_text(const subscription_wish& wish);

/// Errors: `corruption`.
[[nodiscard]] result<subscription_wish> read_subscription_wish(std::string_view text);

} // namespace codeq::http
