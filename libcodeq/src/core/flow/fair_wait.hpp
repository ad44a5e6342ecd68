// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "core/flow/fair_order.hpp"

#include <cstdint>

namespace codeq::core {

/// The slots of the workers that claim from a queue with fairness keys.
struct fair_slots {
  /// The number of the queue's leases.
  std::uint64_t leased = 0;
  /// All of them have leases, so that a lease has to end first.
  bool are_taken = false;
};

/// The longest time until a task of a fairness key starts, as `fairness_share::wait`;
/// `duration::max()` when it cannot be expressed. `at`: where the key stands in the rounds; its
/// group has weight `group_weight`. @pre the key has ready tasks, and the weight is positive
[[nodiscard]] duration longest_fair_wait(
  const fair_order::standing& at, std::uint64_t group_weight, const fair_slots& slots);

} // namespace codeq::core
