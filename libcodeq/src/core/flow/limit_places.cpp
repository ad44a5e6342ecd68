// SPDX-License-Identifier: Apache-2.0
// The part of `limit_keys` that counts the places of tasks that have not started: released ones,
// and those that wait for permits of other shards.
#include "core/flow/limit_keys.hpp"

#include <algorithm>

namespace codeq::core {

void limit_keys::queue_part::add_released(sequence seq, const released_task& task) {
  auto at = std::find_if(released_sums.begin(), released_sums.end(), [&](const auto& one) {
    return one.first == task.priority;
  });
  auto& sum = at == released_sums.end()
                ? released_sums.emplace_back(task.priority, task_sum{}).second
                : at->second;
  ++sum.tasks;
  sum.cost += task.cost;
  released.emplace(seq, task);
}

void limit_keys::queue_part::remove_released(std::map<sequence, released_task>::iterator at) {
  const auto of = std::find_if(released_sums.begin(), released_sums.end(), [&](const auto& one) {
    return one.first == at->second.priority;
  });
  of->second.cost -= at->second.cost;
  if (--of->second.tasks == 0)
    released_sums.erase(of);
  released.erase(at);
}

limit_keys::task_sum limit_keys::queue_part::released_before(std::uint8_t priority) const {
  task_sum before;
  for (const auto& [of, sum] : released_sums) {
    if (of < priority)
      continue;
    before.tasks += sum.tasks;
    before.cost += sum.cost;
  }
  return before;
}

void limit_keys::reserve(const limited_task& task, timestamp until) {
  const auto is_in_vain = [this](const limit_use& one) {
    const auto at = keys_.find(one.at);
    return at != keys_.end() && at->second.has_reserved_in_vain;
  };
  if (task.uses.empty() || std::any_of(task.uses.begin(), task.uses.end(), is_in_vain))
    return;
  for (const auto& one : task.uses) {
    auto& reserved = use(one.at).reserved;
    ++reserved.tasks;
    reserved.cost += one.cost;
  }
  reservations_.emplace(task.seq, reservation{task.uses, until});
  reserved_until_.emplace(until, task.seq);
}

void limit_keys::drop_reservation(sequence seq) {
  auto dropped = reservations_.extract(seq);
  if (!dropped)
    return;
  reserved_until_.erase({dropped.mapped().until, seq});
  for (const auto& one : dropped.mapped().uses) {
    auto& reserved = keys_.at(one.at).reserved;
    --reserved.tasks;
    reserved.cost -= one.cost;
    changed_.insert(one.at);
  }
}

void limit_keys::drop_reservations(timestamp now) {
  while (!reserved_until_.empty() && reserved_until_.begin()->first <= now) {
    const auto seq = reserved_until_.begin()->second;
    for (const auto& one : reservations_.at(seq).uses)
      keys_.at(one.at).has_reserved_in_vain = true;
    drop_reservation(seq);
  }
}

} // namespace codeq::core
