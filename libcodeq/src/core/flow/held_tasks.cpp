// SPDX-License-Identifier: Apache-2.0
#include "core/flow/held_tasks.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace codeq::core {

held_tasks::levels::iterator held_tasks::find(std::uint8_t priority) {
  return std::find_if(
    levels_.begin(), levels_.end(), [&](const level& one) { return one.priority == priority; });
}

held_tasks::levels::const_iterator held_tasks::find(std::uint8_t priority) const {
  return std::find_if(
    levels_.begin(), levels_.end(), [&](const level& one) { return one.priority == priority; });
}

held_tasks::level& held_tasks::level_of(std::uint8_t priority) {
  auto at = std::find_if(
    levels_.begin(), levels_.end(), [&](const level& one) { return one.priority <= priority; });
  bool is_there = at != levels_.end() && at->priority == priority;
  return is_there ? *at : *levels_.insert(at, level{priority, {}, {}, nullptr});
}

bool held_tasks::insert(const held_task& task, std::uint32_t cost, const fair_terms& terms) {
  auto& of = level_of(task.priority);
  if (of.size() == 0)
    of.only_key = task.fairness_key;
  if (!of.turns && of.only_key != task.fairness_key) {
    of.turns = std::make_unique<held_turns>();
    of.turns->adopt(std::exchange(of.of_only_key, {}), of.only_key);
  }
  if (of.turns)
    return of.turns->insert(task.seq, cost, task.fairness_key, terms);
  return of.of_only_key.emplace(task.seq, cost).second;
}

bool held_tasks::erase(const held_task& task) {
  auto at = find(task.priority);
  if (at == levels_.end())
    return false;
  bool was_held = at->turns ? at->turns->erase(task.seq, task.fairness_key)
                            : at->of_only_key.erase(task.seq) > 0;
  if (at->size() == 0)
    levels_.erase(at);
  return was_held;
}

bool held_tasks::contains(const held_task& task) const {
  auto at = find(task.priority);
  if (at == levels_.end())
    return false;
  return at->turns ? at->turns->contains(task.seq, task.fairness_key)
                   : at->of_only_key.contains(task.seq);
}

std::size_t held_tasks::size() const noexcept {
  return std::accumulate(
    levels_.begin(), levels_.end(), std::size_t{0},
    [](std::size_t sum, const level& one) { return sum + one.size(); });
}

std::uint32_t held_tasks::next_cost(const terms_of_key& terms) {
  auto& first = levels_.front();
  return first.turns ? first.turns->next_cost(terms) : first.of_only_key.begin()->second;
}

std::uint32_t held_tasks::some_cost() const {
  const auto& first = levels_.front();
  return first.turns ? first.turns->some_cost() : first.of_only_key.begin()->second;
}

held_turns::taken held_tasks::take_next(const terms_of_key& terms) {
  auto& first = levels_.front();
  held_turns::taken got;
  if (first.turns) {
    got = first.turns->take_next(terms);
  } else {
    auto task = first.of_only_key.extract(first.of_only_key.begin());
    got = {task.key(), task.mapped(), 0};
  }
  if (first.size() == 0)
    levels_.erase(levels_.begin());
  return got;
}

void held_tasks::settle(
  std::uint8_t priority, std::string_view key, std::int64_t difference) {
  if (auto at = find(priority); at != levels_.end() && at->turns)
    at->turns->settle(key, difference);
}

std::size_t
held_tasks::before(const held_task& task, const terms_of_key& terms) const {
  std::size_t all = 0;
  for (const auto& one : levels_) {
    if (one.priority > task.priority)
      all += one.size();
    else if (one.priority == task.priority && !one.turns)
      all += count_before(one.of_only_key, task.seq, tuning::turns_counted_max);
    else if (one.priority == task.priority && one.turns->contains(task.seq, task.fairness_key))
      all += one.turns->before(task.seq, task.fairness_key, terms);
  }
  return all;
}

} // namespace codeq::core
