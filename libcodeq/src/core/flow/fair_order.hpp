// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/fair_ring.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace codeq::core {

/// A fairness key by its numbers: `group` is of the part before the first `/`, `key` of the whole.
struct fair_key {
  std::uint32_t group = 0;
  std::uint32_t key = 0;

  bool operator==(const fair_key&) const = default;
};

/// Which fairness key of one queue and priority gets the next task: deficit round robin over the
/// groups, and within a group over its keys. It contains exactly the keys that have a ready task
/// which is not held back. About 250 bytes per key.
class fair_order {
public:
  [[nodiscard]] bool empty() const noexcept { return groups_in_turn_.empty(); }

  [[nodiscard]] bool contains(fair_key who) const;

  /// The key has tasks from now on. @pre it had none; the weights are positive
  void add(fair_key who, std::uint32_t key_weight, std::uint32_t group_weight = 1);

  /// The key has no more tasks. @pre it had some
  void remove(fair_key who);

  /// Changes weights from the next turn on. Does nothing when the key or group has no tasks.
  void set_key_weight(fair_key who, std::uint32_t weight);
  void set_group_weight(std::uint32_t group, std::uint32_t weight);

  /// The key that gets the next task, and how many tasks it may get before another one is asked
  /// for.
  struct choice {
    fair_key who;
    std::uint64_t tasks = 1;
  };

  /// `cost_of` returns the expected run time of a task of a key, in milliseconds, at least 1.
  /// @pre it is not empty
  template <class CostOf>
  [[nodiscard]] choice next(CostOf cost_of) {
    fair_key who;
    who.group = groups_in_turn_.turn([&](std::uint32_t group) {
      auto key = groups_.at(group).turn([&](std::uint32_t one) {
        return cost_of(fair_key{group, one});
      });
      return cost_of(fair_key{group, key});
    });
    auto& keys = groups_.at(who.group);
    who.key = keys.turn([&](std::uint32_t one) { return cost_of(fair_key{who.group, one}); });
    auto cost = cost_of(who);
    return {who, std::min(groups_in_turn_.share(cost), keys.share(cost))};
  }

  /// The chosen key got tasks whose expected run times have this sum. @pre `next` chose it last
  void charge(fair_key who, std::int64_t cost);

  /// A task of the key ran for so much less than expected, or more when negative.
  void settle(fair_key who, std::int64_t difference);

private:
  fair_ring groups_in_turn_;
  std::unordered_map<std::uint32_t, fair_ring> groups_;
};

} // namespace codeq::core
