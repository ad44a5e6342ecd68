// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/flow/held_turns.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::core {

/// A held task: its priority, number and fairness key, which is empty in queues without such keys.
struct held_task {
  std::uint8_t priority = 0;
  sequence seq = 0;
  std::string_view fairness_key{};
};

/// The tasks of one queue that a limit key holds back, in the order in which they get its slots: a
/// higher priority first, then fairness keys in turns, then the older one. Tasks of one fairness
/// key take a node each, and no turns. Costs are logarithmic in the number of tasks.
class held_tasks {
public:
  /// Returns false when the task is held already.
  bool insert(const held_task& task, std::uint32_t cost, const fair_terms& terms);

  /// Returns false when the task is not held.
  bool erase(const held_task& task);

  [[nodiscard]] bool contains(const held_task& task) const;

  [[nodiscard]] bool empty() const noexcept { return levels_.empty(); }

  /// Number of fairness keys of the tasks with the highest priority. @pre not empty
  [[nodiscard]] std::size_t next_keys() const noexcept {
    const auto& first = levels_.front();
    return first.turns ? first.turns->keys() : 1;
  }

  /// Costs one step per priority with held tasks.
  [[nodiscard]] std::size_t size() const noexcept;

  /// The highest priority of a task. @pre not empty
  [[nodiscard]] std::uint8_t next_priority() const { return levels_.front().priority; }

  /// As `held_turns::next_cost`. @pre not empty
  [[nodiscard]] std::uint32_t next_cost(const terms_of_key& terms);

  /// The cost of a task of the highest priority. @pre not empty
  [[nodiscard]] std::uint32_t some_cost() const;

  /// As `held_turns::take_next`; nothing is charged where all tasks have one key. @pre not empty
  held_turns::taken take_next(const terms_of_key& terms);

  /// As `held_turns::settle`.
  void settle(std::uint8_t priority, std::string_view key, std::int64_t difference);

  /// Number of tasks that come before this one, which need not be held; about as many when
  /// fairness keys take turns. Counts at most `tuning::turns_counted_max` of each priority one by
  /// one.
  [[nodiscard]] std::size_t before(const held_task& task, const terms_of_key& terms) const;

private:
  /// The tasks of one priority.
  struct level {
    std::uint8_t priority = 0;
    /// The fairness key of all tasks, while they have one only.
    std::string only_key{};
    held_turns::costs_of_tasks of_only_key{};
    /// Null until tasks of the level have different keys; then it has all tasks.
    std::unique_ptr<held_turns> turns{};

    [[nodiscard]] std::size_t size() const { return turns ? turns->size() : of_only_key.size(); }
  };

  using levels = std::vector<level>;

  [[nodiscard]] levels::iterator find(std::uint8_t priority);
  [[nodiscard]] levels::const_iterator find(std::uint8_t priority) const;
  [[nodiscard]] level& level_of(std::uint8_t priority);

  /// The highest priority first; none of them is empty.
  levels levels_;
};

} // namespace codeq::core
