// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"
#include "core/flow/permit_desk.hpp"

#include <algorithm>
#include <utility>

/// The slots of queues with a maximum of leases.
namespace codeq::core {

permit_desk::permit_task permit_desk::slot_task(std::uint32_t queue, const slot_pool& pool) {
  const auto& what = pool.what;
  return {next_slot_++, what.priority, queue, what.tenant, {{pool.owner, what.uses}}};
}

void permit_desk::open_slots(
  std::uint32_t queue, const queue_address& name, std::size_t leased) {
  task_limit use{std::string(slot_limit), name.queue, 1};
  auto owner = owner_elsewhere(name.tenant, use);
  CODEQ_ASSERT(owner);
  auto [at, is_new] = pools_.try_emplace(queue);
  CODEQ_ASSERT(is_new);
  auto& pool = at->second;
  pool.owner = *owner;
  pool.what = {0, name.tenant, {std::move(use)}, 0};
  const auto counted = std::min(leased, slots_per_queue_max);
  pool.uncounted = leased - counted;
  for (std::size_t i = 0; i < counted; ++i) {
    auto task = slot_task(queue, pool);
    adopt(task);
    pool.spent.push_back(task.seq);
  }
  // The owner is told them as a list before it is asked for others. Where a list is to be told
  // anyway, as for many queues at the start, nothing is repeated for each of them.
  if (leased > 0 && (owners_.at(pool.owner).is_listed || owners_.at(pool.owner).is_awaiting))
    moved(pool.owner);
}

void permit_desk::close_slots(std::uint32_t queue) {
  auto at = pools_.find(queue);
  if (at == pools_.end())
    return;
  auto& pool = at->second;
  drop_waiting(pool, 0);
  for (auto seq : pool.held)
    unspent_.erase({tasks_.at(seq).until, seq});
  std::vector<sequence> had(pool.held.begin(), pool.held.end());
  had.insert(had.end(), pool.spent.begin(), pool.spent.end());
  for (auto seq : had) {
    give_back_had(tasks_.at(seq), seq, false);
    tasks_.erase(seq);
  }
  changed_slots_.erase(queue);
  pools_.erase(at);
}

void permit_desk::drop_waiting(slot_pool& pool, std::size_t left) {
  while (pool.waiting.size() > left) {
    // The latest slots are the first to go, since the owner may not have heard of them yet.
    auto last = std::prev(pool.waiting.end());
    leave(*last);
    pool.waiting.erase(last);
  }
}

void permit_desk::want_slots(
  std::uint32_t queue, std::size_t count, std::uint8_t priority) {
  auto at = pools_.find(queue);
  if (at == pools_.end())
    return;
  auto& pool = at->second;
  auto others = pool.held.size() + pool.spent.size();
  auto room = slots_per_queue_max - std::min(slots_per_queue_max, others);
  auto wanted = std::min({count, slots_asked_max, room});
  // The owner gives slots by priority. When the first task has another priority than before, the
  // slots that wait have the wrong places in its line.
  bool is_other = priority != std::exchange(pool.what.priority, priority);
  drop_waiting(pool, is_other ? 0 : wanted);
  while (pool.waiting.size() < wanted) {
    auto task = slot_task(queue, pool);
    wait(task);
    pool.waiting.insert(task.seq);
    pool.is_unheard = true;
  }
}

std::size_t permit_desk::free_slots(std::uint32_t queue) const {
  auto at = pools_.find(queue);
  return at == pools_.end() ? 0 : at->second.held.size();
}

void permit_desk::spend_slot(std::uint32_t queue) {
  auto at = pools_.find(queue);
  if (at == pools_.end())
    return;
  auto& pool = at->second;
  CODEQ_ASSERT(!pool.held.empty());
  auto seq = *pool.held.begin();
  pool.held.erase(pool.held.begin());
  pool.has_missed = false;
  spend(seq);
  pool.spent.push_back(seq);
}

void permit_desk::end_slot(std::uint32_t queue, monotonic_time now) {
  auto at = pools_.find(queue);
  if (at == pools_.end())
    return;
  auto& pool = at->second;
  if (pool.uncounted > 0) {
    --pool.uncounted;
    return;
  }
  CODEQ_ASSERT(!pool.spent.empty());
  auto seq = pool.spent.back();
  pool.spent.pop_back();
  auto& task = tasks_.at(seq);
  if (now >= task.until)
    return end(seq);
  // It is returned in a later turn, which may have nothing to write.
  must_sync_ = true;
  task.is = stage::held;
  unspent_.emplace(task.until, seq);
  pool.held.insert(seq);
}

void permit_desk::return_slots(std::uint32_t queue, std::size_t left) {
  auto at = pools_.find(queue);
  if (at == pools_.end())
    return;
  auto& held = at->second.held;
  while (held.size() > left) {
    auto seq = *held.begin();
    held.erase(held.begin());
    auto& task = tasks_.at(seq);
    unspent_.erase({task.until, seq});
    give_back_had(task, seq, true);
    tasks_.erase(seq);
    changed_slots_.insert(queue);
  }
}

std::size_t permit_desk::awaited_slots(std::uint32_t queue) const {
  auto at = pools_.find(queue);
  return at == pools_.end() ? 0 : at->second.waiting.size();
}

bool permit_desk::is_asking_slots(std::uint32_t queue) const {
  auto at = pools_.find(queue);
  return at != pools_.end() && at->second.is_unheard && !at->second.waiting.empty();
}

bool permit_desk::has_missed_slot(std::uint32_t queue) const {
  auto at = pools_.find(queue);
  return at != pools_.end() && at->second.has_missed;
}

bool permit_desk::does_owner_count(std::uint32_t queue) const {
  auto at = pools_.find(queue);
  auto owner = at == pools_.end() ? owners_.end() : owners_.find(at->second.owner);
  return owner != owners_.end() && owner->second.counts_slots;
}

bool permit_desk::is_owner_silent(std::uint32_t queue, monotonic_time now) const {
  auto at = pools_.find(queue);
  auto owner = at == pools_.end() ? owners_.end() : owners_.find(at->second.owner);
  return owner != owners_.end() && owner->second.is_silent(now);
}

void permit_desk::note_answering(shard_id owner) {
  for (const auto& [queue, pool] : pools_)
    if (pool.owner == owner)
      changed_slots_.insert(queue);
}

std::size_t permit_desk::spent_slots(std::uint32_t queue) const {
  auto at = pools_.find(queue);
  return at == pools_.end() ? 0 : at->second.spent.size() + at->second.uncounted;
}

void permit_desk::note_slot(std::uint32_t queue, sequence seq, bool is_held) {
  auto& pool = pools_.at(queue);
  pool.waiting.erase(seq);
  if (is_held)
    pool.held.insert(seq);
  else
    pool.held.erase(seq);
  pool.has_missed = pool.has_missed || !is_held;
  changed_slots_.insert(queue);
}

} // namespace codeq::core
