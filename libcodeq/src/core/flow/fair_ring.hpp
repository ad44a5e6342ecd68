// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/fair_credit.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
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
    /// With `shared`, as of its last turn.
    fair_credit own;
    member next = 0;
    member previous = 0;
    std::uint32_t weight = 0;
    /// The lap of the ring in which it had its last turn; one before the last if it had none.
    std::uint32_t lap = 0;
    bool has_turn = false;
    /// It was passed over because it waited, and may have credit from then.
    bool has_waited = false;
    /// Null when no other shard shares the credit.
    std::shared_ptr<shared_credit> shared;

    /// Members have a weight.
    [[nodiscard]] bool is_member() const noexcept { return weight > 0; }

    [[nodiscard]] fair_credit credit() const { return shared ? shared->read() : own; }

    /// A copy whose changes no other shard sees.
    [[nodiscard]] place detached() const {
      return {credit(), next, previous, weight, lap, has_turn, has_waited, nullptr};
    }
  };

  /// The places of the members of several rings, by member; a member is in one of them at most.
  using places = std::vector<place>;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Adds a member, which comes last in the round and has no credit but that of other shards. @pre
  /// it is in no ring
  void add(
    places& all,
    member who,
    std::uint32_t weight,
    std::shared_ptr<shared_credit> shared = nullptr);

  /// Removes a member with its credit or debt. @pre it is in the ring
  void remove(places& all, member who);

  /// Changes a member's weight from its next turn on. @pre it is in the ring
  void set_weight(places& all, member who, std::uint32_t weight);

  /// The member that gets the next task. `cost_of` returns the expected cost of a member's next
  /// task. `Places`: `places`, or a copy of what is looked at. Lowers `passes` by the members that
  /// were passed over; once it is 0 the result means nothing. @pre the ring is not empty
  template <class Places, class CostOf>
  [[nodiscard]] member turn(Places& all, CostOf cost_of, std::uint64_t& passes) {
    return *turn_unless(all, cost_of, [](member) { return false; }, passes);
  }

  /// As `turn`, but passes over members that wait for other shards; empty when all of them do. They
  /// get their allowances, which other shards may use; one whose credit nobody uses waits no more,
  /// so that it does not lose its share. `waits` returns true for a member that waits, and is
  /// called after `cost_of`.
  template <class Places, class CostOf, class Waits>
  [[nodiscard]] std::optional<member>
  turn_unless(Places& all, CostOf cost_of, Waits waits, std::uint64_t& passes) {
    std::uint32_t waiting = 0;
    while (waiting < size_) {
      std::int64_t cost = cost_of(first_);
      auto& first = all[first_];
      bool has_to_wait = passes > 0 && waits(first_);
      // Rounds begin for members that do not wait.
      if (first.lap != lap_ || !(first.has_turn || has_to_wait))
        begin_turn(first, cost);
      else
        first.own = first.credit();
      if (has_to_wait && usable(first) <= unused_max(first)) {
        --passes;
        ++waiting;
        first.has_waited = true;
        first_ = first.next;
        continue;
      }
      waiting = 0;
      if (usable(first) >= cost || passes == 0)
        return first_;
      --passes;
      least_reach_ = std::min(least_reach_, reach_of(first, cost));
      first.has_turn = false;
      first_ = first.next;
    }
    return std::nullopt;
  }

  /// The member whose turn it is. @pre the ring is not empty
  [[nodiscard]] member first() const noexcept { return first_; }

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
    return static_cast<std::uint64_t>(usable(all[first_]) / cost);
  }

  /// The time at which this round began.
  [[nodiscard]] std::int64_t time() const noexcept { return time_; }

  /// The member with the turn got tasks of that cost in all.
  void charge(places& all, std::int64_t cost) const;

  /// A task of the member cost less than it was charged, or more when negative. A debt makes the
  /// member miss at most one round. @pre it is in the ring
  void settle(places& all, member who, std::int64_t difference) const;

  /// The largest cost of this round or the last one.
  [[nodiscard]] std::int64_t largest_cost() const noexcept { return largest_; }

  /// The most that the members use between two turns of another one, in largest costs: the sum of
  /// their weights, and what each has left of a task.
  [[nodiscard]] std::uint64_t round_max() const noexcept { return weights_ + size_; }

  /// True when the member's credit or debt is not more than a turn could ever give, here or at a
  /// shard that shares it. For checks.
  [[nodiscard]] bool is_bounded(const places& all, member who) const {
    // The weight may have been greater at the beginning of the turn, or since.
    auto most = (2 * std::int64_t{heaviest_} + 1) * largest_ever_;
    if (all[who].shared)
      most = std::max(most, all[who].shared->most());
    auto credit = all[who].credit().credit;
    return credit <= most && credit >= -most;
  }

private:
  [[nodiscard]] std::int64_t allowance_of(const place& p) const { return p.weight * largest_; }

  /// The credit that the member may use in this round. Other shards may have given it allowances
  /// for later rounds, too, which it may not use yet.
  [[nodiscard]] std::int64_t usable(const place& p) const {
    auto later = std::max<std::int64_t>(p.own.given - (time_ + largest_), 0);
    return p.own.credit - p.weight * later;
  }

  /// The credit up to which a member waits: what it may have left and gets in a round, and the
  /// allowance of the time that shards may be apart.
  [[nodiscard]] std::int64_t unused_max(const place& p) const {
    return (std::int64_t{p.weight} + 1) * largest_ + p.weight * rival_age_margin.count();
  }

  /// The time until which a member has to be given to, so that it may use the cost of a task.
  [[nodiscard]] static std::int64_t reach_of(const place& p, std::int64_t cost) {
    auto left = p.own.credit - cost;
    return p.own.given - (left < 0 ? (left - p.weight + 1) : left) / p.weight;
  }

  void begin_turn(place& p, std::int64_t cost);

  void begin_round();

  static constexpr std::int64_t none_reached = std::numeric_limits<std::int64_t>::max();

  std::int64_t largest_ = 1;
  std::int64_t largest_ever_ = 1;
  std::uint32_t heaviest_ = 1;
  /// The number of this round, and the time at which it began.
  std::uint32_t lap_ = 1;
  std::int64_t time_ = 0;
  /// The largest cost, and the least of `reach_of`, of the members that had a turn in this round.
  std::int64_t seen_ = 1;
  std::int64_t least_reach_ = none_reached;
  std::uint32_t size_ = 0;
  /// Their sum.
  std::uint64_t weights_ = 0;
  /// The member whose turn it is.
  member first_ = 0;
};

} // namespace codeq::core
