// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/fair_keys.hpp"
#include "core/flow/fair_order.hpp"
#include "core/tables/lane.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace codeq::core {

/// The ready tasks of one queue and priority when some of them have a fairness key: a lane per key,
/// and the order in which keys get their turns. A key without ready tasks takes no memory here.
class fair_lanes {
public:
  using weights = fair_keys::weights;

  /// `tasks` of the key become ready; the caller adds them to the lane that is returned. `credits`
  /// count when the key had no ready task.
  lane& enter(fair_key who, weights of, std::uint64_t tasks, const key_credits& credits = {});

  /// The lane of a key with ready tasks.
  [[nodiscard]] lane& at(fair_key who) { return lanes_.at(who.key).tasks; }

  /// Takes a lane with so many ready tasks over, as that of a key without ready tasks.
  void adopt(
    fair_key who, weights of, lane tasks, std::uint64_t ready, const key_credits& credits = {});

  /// One task of the key is not ready any more, because it was granted or changed. `was_returned`:
  /// it was put back into its lane before, and leaves it now; fresh tasks leave by being touched.
  /// @pre it was ready
  void leave(fair_key who, sequence seq, bool was_returned);

  /// Removes a closed segment from the lane of a key, if it is in it.
  void forget(fair_key who, sequence segment);

  /// As `lane::segments`, of all keys.
  [[nodiscard]] std::size_t segments() const;

  [[nodiscard]] bool empty() const noexcept { return lanes_.empty(); }

  [[nodiscard]] std::uint64_t ready() const noexcept { return ready_; }

  /// Number of the key's ready tasks.
  [[nodiscard]] std::uint64_t ready(fair_key who) const {
    auto at = lanes_.find(who.key);
    return at == lanes_.end() ? 0 : at->second.ready;
  }

  /// True when the key is in the order.
  [[nodiscard]] bool has_turns(fair_key who) const { return order_.contains(who); }

  /// True when the key has not saved credit up. @pre it has ready tasks
  [[nodiscard]] bool is_bounded(fair_key who) const { return order_.is_bounded(who); }

  /// Number of keys with ready tasks.
  [[nodiscard]] std::size_t keys() const noexcept { return lanes_.size(); }

  /// The first ready task of all keys; another ready one when that is too costly to find out.
  /// Linear in the number of keys. @pre not empty
  [[nodiscard]] sequence first(segment_table& segments);

  /// The largest expected run time in a round of keys, in milliseconds.
  [[nodiscard]] std::int64_t largest_cost() const noexcept { return order_.largest_cost(); }

  /// The tasks to grant next, and their key.
  struct turn {
    fair_key who;
    seq_run tasks;
    /// See `fair_order::choice`.
    std::int64_t time = 0;
    std::optional<shard_id> behind{};
  };

  /// At most `limit` tasks of one segment. Removes nothing. @pre not empty
  [[nodiscard]] turn front(segment_table& segments, const fair_keys& keys, std::uint32_t limit);

  /// As `fair_order::next`. @pre not empty
  [[nodiscard]] fair_order::choice next(const fair_keys& keys) {
    return order_.next([&](fair_key who) { return keys.cost_of(who); });
  }

  /// As `fair_order::only_credit`.
  [[nodiscard]] std::shared_ptr<const shared_credit> only_credit(fair_key chosen) const {
    return order_.only_credit(chosen);
  }

  /// As `fair_order::ring_of`. @pre the key has ready tasks
  [[nodiscard]] waiting_ring ring_of(fair_key who) const { return order_.ring_of(who); }

  /// As `fair_order::preview`. @pre not empty
  [[nodiscard]] std::optional<fair_key> preview(const fair_keys& keys) const {
    return order_.preview([&](fair_key who) { return keys.cost_of(who); });
  }

  /// As `fair_order::turns_before`. @pre the key has ready tasks
  [[nodiscard]] std::size_t turns_before(fair_key who, const fair_keys& keys) const {
    return order_.turns_before(who, [&](fair_key one) { return keys.cost_of(one); });
  }

  /// As `fair_order::standing_of`.
  [[nodiscard]] fair_order::standing standing_of(fair_key who) const {
    return order_.standing_of(who);
  }

  /// The first of these tasks, at least one, were granted. @pre `front` returned the key last
  void charge(fair_key who, const fair_keys& keys, std::uint32_t tasks) {
    order_.charge(who, keys.cost_of(who) * tasks);
  }

  /// A task of the key ran for so much less than it was charged, or more when negative.
  void settle(fair_key who, std::int64_t difference) { order_.settle(who, difference); }

  void set_weights(fair_key who, weights of);

private:
  struct key_lane {
    lane tasks;
    std::uint64_t ready = 0;
  };

  fair_order order_;
  std::unordered_map<std::uint32_t, key_lane> lanes_;
  std::uint64_t ready_ = 0;
};

} // namespace codeq::core
