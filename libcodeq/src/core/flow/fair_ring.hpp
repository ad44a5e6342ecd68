// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace codeq::core {

/// Deficit round robin over members with weights. In a round each member may use its weight times
/// the largest cost of a task, so that each of them gets at least one task. What a member did not
/// use is at most one task's cost, and is void once it leaves. Every operation but `turn` takes
/// constant time; `turn` passes members over at most twice each. Costs are in milliseconds.
class fair_ring {
public:
  /// A small number: it is an index.
  using member = std::uint32_t;

  /// A member's place in its ring, and its neighbours.
  struct place {
    std::int64_t credit = 0;
    member next = 0;
    member previous = 0;
    std::uint32_t weight = 0;
    bool has_turn = false;

    /// Members have a weight.
    [[nodiscard]] bool is_member() const noexcept { return weight > 0; }
  };

  /// The places of the members of several rings, by member; a member is in one of them at most.
  using places = std::vector<place>;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Adds a member, which comes last in the round and has no credit. @pre it is in no ring
  void add(places& all, member who, std::uint32_t weight);

  /// Removes a member with its credit or debt. @pre it is in the ring
  void remove(places& all, member who);

  /// Changes a member's weight from its next turn on. @pre it is in the ring
  void set_weight(places& all, member who, std::uint32_t weight);

  /// The member that gets the next task. `cost_of` returns the expected cost of a member's next
  /// task. `Places`: `places`, or a copy of what is looked at. Lowers `passes` by the members that
  /// were passed over; once it is 0 the result means nothing. @pre the ring is not empty
  template <class Places, class CostOf>
  [[nodiscard]] member turn(Places& all, CostOf cost_of, std::uint64_t& passes) {
    for (;;) {
      std::int64_t cost = cost_of(first_);
      auto& first = all[first_];
      if (!first.has_turn)
        begin_turn(first, cost);
      if (first.credit >= cost || passes == 0)
        return first_;
      --passes;
      first.has_turn = false;
      first_ = first.next;
    }
  }

  /// Number of members whose turns come before that of `to`, from that of `from` on, at most
  /// `most`. @pre both are in the same ring
  [[nodiscard]] static std::size_t
  distance(const places& all, member from, member to, std::size_t most) {
    std::size_t steps = 0;
    for (; from != to && steps < most; from = all[from].next)
      ++steps;
    return steps;
  }

  /// Number of tasks of that cost that the member with the turn may get before the next one; at
  /// least 1. @pre `turn` was called last, with that cost
  [[nodiscard]] std::uint64_t share(const places& all, std::int64_t cost) const {
    return static_cast<std::uint64_t>(all[first_].credit / cost);
  }

  /// The member with the turn got tasks of that cost in all.
  void charge(places& all, std::int64_t cost) const { all[first_].credit -= cost; }

  /// A task of the member cost less than it was charged, or more when negative. A debt makes the
  /// member miss at most one round. @pre it is in the ring
  void settle(places& all, member who, std::int64_t difference) const;

  /// The largest cost of this round or the last one.
  [[nodiscard]] std::int64_t largest_cost() const noexcept { return largest_; }

  /// The most that the members use between two turns of another one, in largest costs: the sum of
  /// their weights, and what each has left of a task.
  [[nodiscard]] std::uint64_t round_max() const noexcept { return weights_ + size_; }

  /// True when the member's credit or debt is not more than a turn could ever give. For checks.
  [[nodiscard]] bool is_bounded(const places& all, member who) const {
    // The weight may have been greater at the beginning of the turn, or since.
    auto most = (std::int64_t{heaviest_} + 1) * largest_ever_;
    return all[who].credit <= most && all[who].credit >= -most;
  }

private:
  [[nodiscard]] std::int64_t allowance_of(const place& p) const { return p.weight * largest_; }

  void begin_turn(place& p, std::int64_t cost);

  std::int64_t largest_ = 1;
  std::int64_t largest_ever_ = 1;
  std::uint32_t heaviest_ = 1;
  /// The largest cost among the members that had a turn in this round, and the turns left.
  std::int64_t seen_ = 1;
  std::uint32_t turns_left_ = 0;
  std::uint32_t size_ = 0;
  /// Their sum.
  std::uint64_t weights_ = 0;
  /// The member whose turn it is.
  member first_ = 0;
};

} // namespace codeq::core
