// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "base/tuning.hpp"
#include "core/flow/fair_ring.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
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
/// which is not held back. About 150 bytes per key with a number up to the greatest one so far.
class fair_order {
public:
  [[nodiscard]] bool empty() const noexcept { return groups_in_turn_.empty(); }

  [[nodiscard]] bool contains(fair_key who) const {
    return who.key < keys_.size() && keys_[who.key].is_member();
  }

  /// The key has tasks from now on. @pre it had none; the weights are positive
  void add(
    fair_key who,
    std::uint32_t key_weight,
    std::uint32_t group_weight = 1,
    const key_credits& credits = {});

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
    /// See `fair_ring::time`, of the ring of the groups.
    std::int64_t time = 0;
    /// Set when the keys of all groups wait for turns on other shards: one of these. No task here
    /// comes next then, and `who` is one of the keys that wait.
    std::optional<shard_id> behind{};
  };

  /// `cost_of` returns the expected run time of a task of a key, in milliseconds, at least 1.
  /// @pre it is not empty
  template <class CostOf>
  [[nodiscard]] choice next(CostOf cost_of) {
    parts<fair_ring::places, std::vector<fair_ring>> all{
      groups_in_turn_, groups_, rings_, keys_, std::numeric_limits<std::uint64_t>::max()};
    std::optional<shard_id> behind;
    auto who = choose(all, cost_of, [&](std::uint32_t group) {
      behind = show_ring(group);
      return behind.has_value();
    });
    if (!who)
      return {first_key(), 1, groups_in_turn_.time(), behind};
    auto cost = cost_of(*who);
    auto tasks =
      std::min(groups_in_turn_.share(groups_, cost), rings_[who->group].share(keys_, cost));
    return {*who, tasks, groups_in_turn_.time()};
  }

  /// The ring of the key's group. @pre the key has tasks
  [[nodiscard]] waiting_ring ring_of(fair_key who) const {
    return {keys_[who.key].shared, here_, rings_[who.group].time()};
  }

  /// The credit of the only group with tasks, if other shards share it; null when there are several
  /// groups. @pre `next` chose the key last
  [[nodiscard]] std::shared_ptr<const shared_credit> only_credit(fair_key chosen) const {
    return groups_in_turn_.size() == 1 ? groups_[chosen.group].shared : nullptr;
  }

  /// The key that `next` would choose; empty when all keys wait for other shards, and when
  /// `tuning::turns_counted_max` members have to be passed over because of their debts, so that it
  /// takes a bounded time. Changes nothing. @pre it is not empty
  template <class CostOf>
  [[nodiscard]] std::optional<fair_key> preview(CostOf cost_of) const {
    copy looked_at(*this);
    auto all = looked_at.all();
    auto next = choose(all, cost_of, waits());
    return all.passes > 0 ? next : std::nullopt;
  }

  /// The number of turns before the key's own: those of the groups before its group, and of the
  /// keys before it in its group, and one for those on another shard when its group waits for it.
  /// It is 0 for the key that `next` would choose, and for no other.
  /// At most `tuning::turns_counted_max`, also when `preview` is empty. Changes nothing. @pre the
  /// key has tasks
  template <class CostOf>
  [[nodiscard]] std::size_t turns_before(fair_key who, CostOf cost_of) const {
    copy looked_at(*this);
    auto all = looked_at.all();
    auto next = choose(all, cost_of, waits());
    auto first = choose_in(all, who.group, cost_of);
    constexpr auto most = tuning::turns_counted_max;
    if (all.passes == 0)
      return most;
    auto from = next ? next->group : groups_in_turn_.first();
    auto groups = fair_ring::distance(groups_, from, who.group, most);
    auto keys = fair_ring::distance(keys_, first, who.key, most - groups);
    return std::max<std::size_t>(groups + keys, shard_behind(who.group) ? 1 : 0);
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

  /// The state of the rounds that bounds the time until the next turn of a key.
  struct standing {
    /// In the rounds of the groups and of the group's keys; also of keys that left meanwhile.
    std::int64_t largest_cost = 1;
    /// See `fair_ring::round_max`: of the other groups, and of the other keys of the group.
    std::uint64_t other_groups = 0;
    std::uint64_t other_keys = 0;
    /// A debt makes the key, or its group, miss a round.
    bool is_key_in_debt = false;
    bool is_group_in_debt = false;
  };

  /// The key may have no tasks here.
  [[nodiscard]] standing standing_of(fair_key who) const;

private:
  /// Copies of those elements of a list that are looked at; the list does not change.
  template <class Value>
  class overlay {
  public:
    explicit overlay(const std::vector<Value>& base) : base_(base) {}

    [[nodiscard]] Value& operator[](std::size_t i) {
      auto known = copies_.find(i);
      return known == copies_.end() ? copies_.emplace(i, copy_of(base_[i])).first->second
                                    : known->second;
    }

  private:
    [[nodiscard]] static fair_ring::place copy_of(const fair_ring::place& p) {
      return p.detached();
    }

    [[nodiscard]] static fair_ring copy_of(const fair_ring& ring) { return ring; }

    const std::vector<Value>& base_;
    std::unordered_map<std::size_t, Value> copies_;
  };

  /// The objects that `choose` reads and changes: those of the order, or copies.
  template <class Places, class Rings>
  struct parts {
    fair_ring& groups_in_turn;
    Places& groups;
    Rings& rings;
    Places& keys;
    /// See `fair_ring::turn`.
    std::uint64_t passes = 0;
  };

  /// Takes the changes of a choice in place of an order.
  class copy {
  public:
    explicit copy(const fair_order& of)
      : groups_in_turn_(of.groups_in_turn_),
        groups_(of.groups_),
        rings_(of.rings_),
        keys_(of.keys_) {}

    [[nodiscard]] parts<overlay<fair_ring::place>, overlay<fair_ring>> all() {
      return {groups_in_turn_, groups_, rings_, keys_, tuning::turns_counted_max};
    }

  private:
    fair_ring groups_in_turn_;
    overlay<fair_ring::place> groups_;
    overlay<fair_ring> rings_;
    overlay<fair_ring::place> keys_;
  };

  /// The key of a group that gets the group's next task.
  template <class Parts, class CostOf>
  [[nodiscard]] static std::uint32_t choose_in(Parts& in, std::uint32_t group, CostOf cost_of) {
    return in.rings[group].turn(
      in.keys, [&](std::uint32_t key) { return cost_of(fair_key{group, key}); }, in.passes);
  }

  /// `waits(group)`: the group's keys wait for those on another shard. Empty when all groups do.
  template <class Parts, class CostOf, class Waits>
  [[nodiscard]] static std::optional<fair_key> choose(Parts& in, CostOf cost_of, Waits waits) {
    auto cost_of_group = [&](std::uint32_t one) {
      return cost_of(fair_key{one, choose_in(in, one, cost_of)});
    };
    auto group = in.groups_in_turn.turn_unless(in.groups, cost_of_group, waits, in.passes);
    if (!group)
      return std::nullopt;
    return fair_key{*group, choose_in(in, *group, cost_of)};
  }

  /// The key whose turn it is in the group whose turn it is.
  [[nodiscard]] fair_key first_key() const {
    auto group = groups_in_turn_.first();
    return {group, rings_[group].first()};
  }

  /// Shows the other shards how far the group's ring has come. Returns what `shard_behind` does.
  [[nodiscard]] std::optional<shard_id> show_ring(std::uint32_t group) const;

  /// See `shared_credit::shard_behind`.
  [[nodiscard]] std::optional<shard_id> shard_behind(std::uint32_t group) const;

  [[nodiscard]] auto waits() const {
    return [this](std::uint32_t group) { return shard_behind(group).has_value(); };
  }

  fair_ring groups_in_turn_;
  /// The places of all groups, and the rings of their keys, by the number of the group.
  fair_ring::places groups_;
  std::vector<fair_ring> rings_;
  /// The places of all keys.
  fair_ring::places keys_;
  /// Null while no other shard shares the turns.
  std::shared_ptr<const turn_shard> here_;
};

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
