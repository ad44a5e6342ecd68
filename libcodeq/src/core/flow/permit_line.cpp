// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_line.hpp"

#include "base/assert.hpp"

namespace codeq::core {

void permit_line::note(std::uint32_t queue, part& of) {
  order_.erase({-int{of.priority}, queue});
  keys_ -= of.keys;
  if (of.tasks.empty()) {
    queues_.erase(queue);
    return;
  }
  of.priority = of.tasks.next_priority();
  of.keys = of.is_idle ? 0 : of.tasks.next_keys();
  if (!of.is_idle)
    order_.emplace(-int{of.priority}, queue);
  keys_ += of.keys;
}

void permit_line::insert(std::uint32_t queue, const held_task& task) {
  constexpr std::uint32_t cost = 1;
  auto& of = queues_[queue];
  // Its own weight counts from the next turn of its key on.
  const auto is_new = of.tasks.insert(task, cost, {});
  CODEQ_ASSERT(is_new);
  note(queue, of);
}

void permit_line::erase(std::uint32_t queue, const held_task& task) {
  auto& of = queues_.at(queue);
  const auto was_there = of.tasks.erase(task);
  CODEQ_ASSERT(was_there);
  note(queue, of);
}

void permit_line::set_idle(std::uint32_t queue, bool is_idle) {
  auto at = queues_.find(queue);
  if (at == queues_.end())
    return;
  at->second.is_idle = is_idle;
  note(queue, at->second);
}

std::uint8_t permit_line::next_priority() const {
  return static_cast<std::uint8_t>(-order_.begin()->first);
}

permit_line::taken permit_line::take_next(const fair_terms_of& terms_of) {
  const auto first = order_.begin()->first;
  auto next = order_.lower_bound({first, next_queue_});
  if (next == order_.end() || next->first != first)
    next = order_.begin();
  const auto queue = next->second;
  auto& of = queues_.at(queue);
  const auto got = of.tasks.take_next(terms_in(terms_of, queue));
  next_queue_ = queue + 1;
  note(queue, of);
  return {got.seq, got.charged};
}

void permit_line::give_turn_back(
  std::uint32_t queue, const held_task& task, std::int64_t charged) {
  if (auto of = queues_.find(queue); of != queues_.end())
    of->second.tasks.settle(task.priority, task.fairness_key, charged);
}

std::size_t permit_line::before(
  std::uint32_t queue, const held_task& task, const fair_terms_of& terms_of) const {
  const auto own = queues_.find(queue);
  auto all = own == queues_.end() ? std::size_t{0}
                                  : own->second.tasks.before(task, terms_in(terms_of, queue));
  for (const auto& [other, of] : queues_)
    if (other != queue && !of.is_idle)
      all += of.tasks.before(task, terms_in(terms_of, other));
  return all;
}

} // namespace codeq::core
