// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/fair_ring.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace codeq::core {

/// A fairness key by its numbers: `group` is of the part before the first `/`, `key` of the whole.
struct fair_key {
  std::uint32_t group = 0;
  std::uint32_t key = 0;

  bool operator==(const fair_key&) const = default;
};

/// Which fairness key of one queue and priority gets the next task: deficit round robin over the
/// groups, and within a group over its keys. It contains exactly the keys that have a ready task
/// which is not held back. About 100 bytes per key with a number up to the greatest one so far.
class fair_order {
public:
  [[nodiscard]] bool empty() const noexcept { return groups_in_turn_.empty(); }

  [[nodiscard]] bool contains(fair_key who) const {
    return who.key < keys_.size() && keys_[who.key].is_member();
  }

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
    who.group = groups_in_turn_.turn(groups_, [&](std::uint32_t group) {
      auto key = rings_[group].turn(keys_, [&](std::uint32_t one) {
        return cost_of(fair_key{group, one});
      });
      return cost_of(fair_key{group, key});
    });
    auto& ring = rings_[who.group];
    who.key =
      ring.turn(keys_, [&](std::uint32_t one) { return cost_of(fair_key{who.group, one}); });
    auto cost = cost_of(who);
    return {who, std::min(groups_in_turn_.share(groups_, cost), ring.share(keys_, cost))};
  }

  /// The chosen key got tasks whose expected run times have this sum. @pre `next` chose it last
  void charge(fair_key who, std::int64_t cost);

  /// A task of the key ran for so much less than expected, or more when negative. Does nothing when
  /// the key has no tasks.
  void settle(fair_key who, std::int64_t difference);

  /// True when neither the key nor its group has saved credit up. @pre the key has tasks
  [[nodiscard]] bool is_bounded(fair_key who) const {
    return groups_in_turn_.is_bounded(groups_, who.group)
           && rings_[who.group].is_bounded(keys_, who.key);
  }

  /// The largest expected run time in a round.
  [[nodiscard]] std::int64_t largest_cost() const noexcept {
    return groups_in_turn_.largest_cost();
  }

private:
  fair_ring groups_in_turn_;
  /// The places of all groups, and the rings of their keys, by the number of the group.
  fair_ring::places groups_;
  std::vector<fair_ring> rings_;
  /// The places of all keys.
  fair_ring::places keys_;
};

} // namespace codeq::core
