// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
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

/// The text under which a subscription is stored.
[[nodiscard]] std::string to_record(const subscription& s);

/// Reads it; the tenant is not in it. Errors: `corruption`.
[[nodiscard]] result<subscription> read_subscription(std::string_view record);

} // namespace codeq::http
