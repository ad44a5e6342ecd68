// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/flow/fair_keys.hpp"
#include "core/flow/fair_order.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace codeq::core {

/// The weights of a fairness key, and the cost of its tasks.
struct fair_terms {
  fair_keys::weights weights{};
  /// The expected run time of a task, in milliseconds, at least 1.
  std::int64_t cost = 1;
};

/// The terms of a fairness key of one queue as they are now.
using terms_of_key = std::function<fair_terms(std::string_view key)>;

/// The terms of a fairness key of a queue as they are now. An empty function: all keys are alike.
using fair_terms_of = std::function<fair_terms(std::uint32_t queue, std::string_view key)>;

/// The terms of the keys of one queue. @pre `terms_of` outlives what is returned
[[nodiscard]] terms_of_key terms_in(const fair_terms_of& terms_of, std::uint32_t queue);

/// The tasks of one queue and priority that a limit key holds back, when they have different
/// fairness keys: keys take turns for the slots, as ready tasks do in `fair_lanes`, and within a
/// key the older task comes first. Keys are known by their names, since their numbers in the queue
/// change. About 400 bytes for each key with held tasks; keys of the past take as much as these and
/// 1,024 others at most. Costs are logarithmic in the number of tasks.
class held_turns {
public:
  /// Held tasks with their costs, which count against a rate.
  using costs_of_tasks = std::map<sequence, std::uint32_t>;

  /// A task that gets its turn.
  struct taken {
    sequence seq = 0;
    std::uint32_t cost = 0;
    /// The run time that its key was charged, in milliseconds.
    std::int64_t charged = 0;
  };

  /// Takes over all tasks of a key. @pre none of the key is here yet
  void adopt(costs_of_tasks tasks, std::string_view key);

  /// Returns false when the task is here already. `terms` count from now on if the key is new.
  bool insert(sequence seq, std::uint32_t cost, std::string_view key, const fair_terms& terms);

  /// Returns false when the task is not here.
  bool erase(sequence seq, std::string_view key);

  [[nodiscard]] bool contains(sequence seq, std::string_view key) const;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Number of keys with tasks.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_.active(); }

  /// The cost of the task that comes next. @pre not empty
  [[nodiscard]] std::uint32_t next_cost(const terms_of_key& terms);

  /// The cost of one of the tasks. @pre not empty
  [[nodiscard]] std::uint32_t some_cost() const;

  /// Removes the task that comes next, and charges its key. New weights of the key count from its
  /// next turn on. @pre not empty
  taken take_next(const terms_of_key& terms);

  /// A task ran for so much less than its key was charged, or more when negative. Does nothing when
  /// the key has no tasks here.
  void settle(std::string_view key, std::int64_t difference);

  /// About how many tasks come before this one if the weights and costs stay; at most
  /// `tuning::turns_counted_max`, which it also is when there are more keys than that.
  /// @pre contains(seq, key)
  [[nodiscard]] std::size_t
  before(sequence seq, std::string_view key, const terms_of_key& terms) const;

private:
  [[nodiscard]] fair_key next(const terms_of_key& terms);
  void leave(fair_key who);
  /// Numbers the keys anew, so that what those of the past used is free. They have no credit then.
  void renumber();

  /// Numbers the keys with tasks here; its weights and run times are not used.
  fair_keys keys_;
  fair_order order_;
  /// By the number of the key.
  std::vector<costs_of_tasks> tasks_;
  std::size_t size_ = 0;
};

/// Number of the tasks before that one, at most `most`.
[[nodiscard]] std::size_t
count_before(const held_turns::costs_of_tasks& tasks, sequence seq, std::size_t most);

} // namespace codeq::core
