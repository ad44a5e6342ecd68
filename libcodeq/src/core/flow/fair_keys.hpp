// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "core/flow/cost_counts.hpp"
#include "core/flow/fair_order.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace codeq::core {

/// The fairness keys of one queue: their numbers, weights, and how long their tasks run. A key is
/// kept while it has live tasks, and a bounded number of keys after that, so that a key that comes
/// and goes keeps its expected run time. About 200 bytes per key. Volatile.
class fair_keys {
public:
  /// Number of keys without live tasks that are kept.
  static constexpr std::size_t idle_keys_max = 10'000;

  struct weights {
    /// Among the keys of the same group.
    std::uint32_t key = 1;
    std::uint32_t group = 1;
  };

  /// `tasks` of the key became live. `name` is the whole key; it may be empty.
  fair_key take(std::string_view name, std::uint64_t tasks = 1);

  /// A task of the key ended. At most `idle_max` keys without live tasks are kept. @pre it was live
  void drop(fair_key who, std::size_t idle_max = idle_keys_max);

  /// The key, if it is kept.
  [[nodiscard]] std::optional<fair_key> find(std::string_view name) const;

  /// Number of keys that are kept.
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

  /// Number of keys with live tasks.
  [[nodiscard]] std::size_t active() const noexcept { return numbers_.size() - idle_size_; }

  /// Number of keys without live tasks that are kept.
  [[nodiscard]] std::size_t idle() const noexcept { return idle_size_; }

  /// True when most numbers are free. They take memory here and in each order.
  [[nodiscard]] bool is_sparse() const noexcept {
    constexpr std::size_t slack = 1024;
    return keys_.size() > 2 * numbers_.size() + slack;
  }

  /// Adds a key with live tasks of another queue of keys, with its weights and run times. Returns
  /// its number here. @pre it is not kept here
  fair_key adopt(const fair_keys& from, fair_key who);

  [[nodiscard]] std::uint64_t live(fair_key who) const { return keys_[who.key].live; }

  [[nodiscard]] const std::string& name_of(fair_key who) const { return *keys_[who.key].name; }

  /// These weights hold from now on, whatever `set_weight` says. A key whose weight is not among
  /// them any more keeps it until `set_weight`; a group that is no key with live tasks has 1 again.
  /// Does not change orders.
  void fix_weights(const std::map<std::string, std::uint32_t>& weights);

  [[nodiscard]] const std::map<std::string, std::uint32_t>& fixed_weights() const noexcept {
    return fixed_;
  }

  /// The weight of the key; that of a key without `/` is its group's. Starts at 1. Does not change
  /// an order that contains the key.
  void set_weight(fair_key who, std::uint32_t weight);

  [[nodiscard]] weights weights_of(fair_key who) const {
    return {keys_[who.key].weight, group_weights_[who.group]};
  }

  /// The weight that was set: of the key, or of its group when it has no `/`.
  [[nodiscard]] std::uint32_t own_weight(fair_key who) const;

  /// A task of the key ran for so long.
  void note(fair_key who, duration ran);

  /// The expected run time of a task of the key, in milliseconds, at least 1: the moving average of
  /// the key, else that of the queue.
  [[nodiscard]] std::int64_t cost_of(fair_key who) const;

  /// At least the greatest `cost_of` of the keys with live tasks, and at most an eighth more. Takes
  /// constant time.
  [[nodiscard]] std::int64_t largest_cost() const;

  /// Calls `visit(key)` for each key with live tasks, in no particular order.
  template <class Visit>
  void for_each_active(Visit visit) const {
    for (std::uint32_t i = 0; i < keys_.size(); ++i)
      if (keys_[i].name && keys_[i].live > 0)
        visit(fair_key{keys_[i].group, i});
  }

private:
  /// The moving average of measured run times, with the weight of an eighth for the latest.
  class average {
  public:
    void add(std::int64_t ms);

    [[nodiscard]] bool is_known() const noexcept { return eighths_ >= 0; }

    [[nodiscard]] std::int64_t ms() const noexcept { return eighths_ / 8; }

    [[nodiscard]] std::int64_t cost() const noexcept { return ms() > 1 ? ms() : 1; }

  private:
    /// In eighths of a millisecond; negative: unknown.
    std::int64_t eighths_ = -1;
  };

  struct entry {
    /// The name in `numbers_`; null when the number is free.
    const std::string* name = nullptr;
    std::uint64_t live = 0;
    average ran;
    std::uint32_t group = 0;
    std::uint32_t weight = 1;
    /// Counts how often the key became idle.
    std::uint32_t idle_count = 0;
  };

  struct group_entry {
    std::uint32_t number = 0;
    std::size_t keys = 0;
  };

  /// A key that had no live tasks at that count.
  struct idle_key {
    std::uint32_t key = 0;
    std::uint32_t idle_count = 0;
  };

  /// Lets look-ups by a part of a text allocate nothing.
  struct name_hash {
    using is_transparent = void;

    std::size_t operator()(std::string_view name) const noexcept {
      return std::hash<std::string_view>{}(name);
    }
  };

  template <class Value>
  using by_name = std::unordered_map<std::string, Value, name_hash, std::equal_to<>>;

  /// The key's number; empty when it is not kept.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view name) const;
  std::uint32_t add(std::string_view name);
  /// Adds the measured run time of a key with live tasks to `costs_`.
  void count_cost(const entry& e);
  void discount_cost(const entry& e);
  void forget(std::uint32_t key);
  [[nodiscard]] static std::string_view group_of(std::string_view name);
  /// The weight of the group is not fixed any more. Tasks under its own key may give another one;
  /// it is 1 when there are none.
  void release_group(std::string_view name);
  /// The weight that is fixed, or 1.
  [[nodiscard]] std::uint32_t first_weight(std::string_view name) const;

  by_name<std::uint32_t> numbers_;
  std::vector<entry> keys_;
  std::vector<std::uint32_t> free_keys_;
  by_name<group_entry> groups_;
  std::vector<std::uint32_t> group_weights_;
  std::vector<std::uint32_t> free_groups_;
  /// In the order in which they became idle; some are in use again.
  std::deque<idle_key> idle_;
  std::size_t idle_size_ = 0;
  average all_;
  /// The moving averages of the keys with live tasks that have one.
  cost_counts costs_;
  std::map<std::string, std::uint32_t> fixed_;
  /// The number that was looked up last: a change of a task looks its key up several times.
  mutable std::uint32_t latest_ = 0;
};

} // namespace codeq::core
