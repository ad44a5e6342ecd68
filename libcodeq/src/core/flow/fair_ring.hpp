// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace codeq::core {

/// Deficit round robin over members with weights. In a round each member may use its weight times
/// the largest cost of a task, so that each of them gets at least one task. What a member did not
/// use is at most one task's cost, and is void once it leaves. Every operation but `turn` takes
/// constant time; `turn` passes members over at most twice each. Costs are in milliseconds.
class fair_ring {
public:
  using member = std::uint32_t;

  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }

  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

  [[nodiscard]] bool contains(member who) const { return places_.contains(who); }

  /// Adds a member, which comes last in the round and has no credit. @pre it is not in the ring
  void add(member who, std::uint32_t weight);

  /// Removes a member with its credit or debt. @pre it is in the ring
  void remove(member who);

  /// Changes a member's weight from its next turn on. @pre it is in the ring
  void set_weight(member who, std::uint32_t weight) { places_.at(who)->weight = weight; }

  /// The member that gets the next task. `cost_of` returns the expected cost of a member's next
  /// task. @pre the ring is not empty
  template <class CostOf>
  [[nodiscard]] member turn(CostOf cost_of) {
    for (;;) {
      auto& first = order_.front();
      std::int64_t cost = cost_of(first.who);
      if (!first.has_turn)
        begin_turn(first, cost);
      if (first.credit >= cost)
        return first.who;
      end_turn();
    }
  }

  /// Number of tasks of that cost that the member with the turn may get before the next one; at
  /// least 1. @pre `turn` was called last, with that cost
  [[nodiscard]] std::uint64_t share(std::int64_t cost) const {
    return static_cast<std::uint64_t>(order_.front().credit / cost);
  }

  /// The member with the turn got tasks of that cost in all.
  void charge(std::int64_t cost) { order_.front().credit -= cost; }

  /// A task of the member cost less than it was charged, or more when negative. A debt makes the
  /// member miss at most one round. Does nothing when the member has left.
  void settle(member who, std::int64_t difference);

  /// The largest cost of this round or the last one.
  [[nodiscard]] std::int64_t largest_cost() const noexcept { return largest_; }

private:
  struct place {
    member who = 0;
    std::uint32_t weight = 1;
    std::int64_t credit = 0;
    bool has_turn = false;
  };

  [[nodiscard]] std::int64_t allowance_of(const place& p) const { return p.weight * largest_; }

  void begin_turn(place& p, std::int64_t cost);
  void end_turn();

  /// In the order of their turns.
  std::list<place> order_;
  std::unordered_map<member, std::list<place>::iterator> places_;
  std::int64_t largest_ = 1;
  /// The largest cost among the members that had a turn in this round, and the turns left.
  std::int64_t seen_ = 1;
  std::size_t turns_left_ = 0;
};

} // namespace codeq::core
