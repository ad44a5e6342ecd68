// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/operator_types.hpp"

#include "core/blocks/segment.hpp"
#include "core/commands/operator_command.hpp"
#include "core/flow/fair_keys.hpp"
#include "core/flow/held_turns.hpp"
#include "core/tables/fair_lanes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace codeq::core {

class queue_board;
struct queue_state;
struct shard_state;

/// The numbers of fairness keys that all queues of a tenant have on a shard. Volatile.
struct fairness_use {
  /// Number of keys with live tasks, of which a tenant has `limits::fairness_keys_max`.
  std::size_t active = 0;
  /// Number of keys without, whose run times are remembered.
  std::size_t idle = 0;
};

/// The ready tasks of a queue whose tasks have fairness keys, by priority and key, and the keys of
/// all its live tasks. Owned by `queue_state`, from the first task with a fairness key on, until
/// the queue is removed or the process ends. Volatile: recovery counts the tasks again, and keys
/// begin without credit, debt and measured run times.
///
/// Tasks that cannot be refused take their turns under the empty key when their own would be one
/// too many of the tenant. Further tasks of such a key do so, too, until all of them have ended.
class queue_fairness {
public:
  /// Maximum number of keys without live tasks that are kept of all queues of a tenant.
  static constexpr std::size_t idle_keys_of_tenant_max = limits::fairness_keys_max / 4;

  /// Takes the lanes of a queue over as those of the empty key. `use`: of the queue's tenant.
  /// @pre the counts of the queue are those of its tasks
  queue_fairness(queue_state& queue, std::shared_ptr<fairness_use> use);

  queue_fairness(const queue_fairness&) = delete;
  queue_fairness& operator=(const queue_fairness&) = delete;
  ~queue_fairness();

  /// Tasks of the segment become live.
  void take(const segment& s, std::uint64_t tasks = 1);

  /// A live task of the segment ended.
  void drop(const segment& s);

  /// The key under which the segment's live tasks take their turns: their own, or the empty one.
  [[nodiscard]] std::string_view turns_of(const segment& s) const;

  /// Lets the key have the weight that the segment's producer gave it, if any.
  void take_weight(const segment& s);

  /// See `queue_config::fairness_weights`. Linear in the number of keys.
  void fix_weights(const std::map<std::string, std::uint32_t>& weights);

  /// Live tasks of the segment become ready; the caller adds them to the lane that is returned.
  lane& enter(const segment& s, std::uint64_t tasks);

  /// One task of the segment is not ready any more. As `fair_lanes::leave`.
  void leave(const segment& s, sequence seq, bool was_returned);

  /// The segment is closed: removes it from its lane.
  void forget(const segment& s);

  /// The lane of the segment's key. @pre it has ready tasks
  [[nodiscard]] lane& lane_of(const segment& s) {
    return lanes_[s.priority]->at(key_of(s));
  }

  /// The lanes of a priority; null when none of its tasks was ready so far.
  [[nodiscard]] fair_lanes* lanes(std::size_t priority) { return lanes_[priority].get(); }

  [[nodiscard]] const fair_lanes* lanes(std::size_t priority) const {
    return lanes_[priority].get();
  }

  [[nodiscard]] const fair_keys& keys() const noexcept { return keys_; }

  /// The present weights and cost of a key; 1 each when the key is not known.
  [[nodiscard]] fair_terms terms_of(std::string_view key) const;

  /// The tasks to grant next: of one segment, at most `limit`. Removes nothing. @pre the priority
  /// has ready tasks
  [[nodiscard]] fair_lanes::turn
  front(std::size_t priority, segment_table& segments, std::uint32_t limit) {
    return lanes_[priority]->front(segments, keys_, limit);
  }

  /// As `fair_order::next`. @pre the priority has ready tasks
  [[nodiscard]] fair_order::choice next(std::size_t priority) {
    return lanes_[priority]->next(keys_);
  }

  /// As `fair_order::only_credit`. @pre `next` chose the key last
  [[nodiscard]] std::shared_ptr<const shared_credit>
  only_credit(std::size_t priority, fair_key chosen) const {
    return lanes_[priority]->only_credit(chosen);
  }

  /// As `fair_order::ring_of`. @pre the key has ready tasks of the priority
  [[nodiscard]] waiting_ring ring_of(std::size_t priority, fair_key who) const {
    return lanes_[priority]->ring_of(who);
  }

  /// Takes turns together with the other shards that are on the queue's board.
  void share(queue_board& board);

  /// Charges the key for the first of these tasks, before they leave their lane. Returns the
  /// expected run time of one of them, in milliseconds. @pre `front` returned the key last
  std::uint32_t charge(std::size_t priority, fair_key who, std::uint32_t tasks);

  /// The lease of a task ended, for which its key was charged `charged`. `ran`: how long the lease
  /// was held; empty when the attempt never began. Returns how much less than it was charged its
  /// run time was, in milliseconds; negative: how much more.
  std::int64_t settle(const segment& s, std::uint32_t charged, std::optional<duration> ran);

  /// How the slots of the workers are used that claim from the queue.
  struct slot_use {
    /// The number of the queue's leases.
    std::uint64_t leased = 0;
    /// All of them have leases, so that a lease has to end first.
    bool are_taken = false;
    /// No task starts, since no worker claims or the queue is paused.
    bool are_none = false;
  };

  /// Lists keys. Costs a few passes over the keys.
  [[nodiscard]] fairness_page list(const fairness_part& part, const slot_use& use) const;

  /// Why a ready task waits while others get the slots: it is the turn of another key.
  struct turn_wait {
    std::string key;
    /// See `task_explanation::fairness_before`; at least 1.
    std::uint64_t before = 0;
    /// See `fairness_share::wait`.
    duration wait{0};
  };

  /// Empty when the next task of the segment's priority is one of its key, or when the key has no
  /// ready task that no limit holds back. Takes a bounded time, however many keys there are.
  /// `leased`: the number of the queue's leases; no slot is free.
  [[nodiscard]] std::optional<turn_wait> wait_of(const segment& s, std::uint64_t leased) const;

  /// Number of the ready tasks that no limit holds back and for which `wait_of` is not empty.
  [[nodiscard]] std::uint64_t out_of_turn() const;

private:
  [[nodiscard]] fair_key key_of(const segment& s) const { return *keys_.find(turns_of(s)); }

  /// The number of live tasks under the empty key that have a key with the same hash. Bounded, and
  /// exact enough: a key has tasks under its own name or under the empty one, never both.
  using shared_counts = std::array<std::uint64_t, 256>;

  [[nodiscard]] static std::size_t place_of(std::string_view key) {
    return std::hash<std::string_view>{}(key) % std::tuple_size_v<shared_counts>;
  }

  [[nodiscard]] bool has_live(std::string_view key) const {
    auto known = keys_.find(key);
    return known && keys_.live(*known) > 0;
  }

  [[nodiscard]] bool has_to_share(std::string_view key) const;

  /// Brings `use_` up to date.
  void count_keys();

  /// Numbers the keys anew, so that what those of the past used is free.
  void renumber();

  /// The credits that the key shares with other shards; empty when it has ready tasks, since it has
  /// them already, and when no other shard shares the turns.
  [[nodiscard]] key_credits credits_of(std::size_t priority, fair_key who) const;

  /// The weights of the keys with ready tasks.
  struct weight_sums;

  [[nodiscard]] weight_sums sum_weights() const;

  /// That of the key over all priorities.
  [[nodiscard]] fair_order::standing standing_of(fair_key who) const;

  /// The largest expected run time of the keys with ready tasks, in milliseconds; at least 1. Costs
  /// one pass over the keys.
  [[nodiscard]] std::int64_t largest_cost() const;

  /// As `fairness_share::wait`. `largest_now`: `largest_cost` or more. @pre the key has ready tasks
  [[nodiscard]] duration
  longest_wait(fair_key who, std::int64_t largest_now, const slot_use& use) const;

  [[nodiscard]] fairness_share describe(fair_key who) const;

  /// Number of the key's ready tasks, of all priorities.
  [[nodiscard]] std::uint64_t ready_of(fair_key who) const;

  using all_lanes = std::array<std::unique_ptr<fair_lanes>, limits::priority_max + 1>;

  fair_keys keys_;
  all_lanes lanes_;
  /// That of the queue; null while no other shard shares the turns.
  queue_board* board_ = nullptr;
  std::shared_ptr<fairness_use> use_;
  /// The part of `use_` that is this queue's.
  fairness_use counted_;
  /// Null while all tasks take turns under their own keys.
  std::unique_ptr<shared_counts> shared_;
  std::uint64_t shared_tasks_ = 0;
};

/// The end of a lease settles what its fairness key was charged. `began`: the attempt began.
/// @pre the lease is in the table
void settle_fairness(
  shard_state& state, const segment& s, fencing_token token, bool began, timestamp now);

} // namespace codeq::core
