// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_removal.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

/// True when nothing but records of ended tasks is left of the queue.
bool is_idle(const queue_state& queue) {
  return queue.depth() == 0 && queue.dead == 0 && queue.settings == queue_settings{};
}

/// When a queue that cannot be removed now is to be looked at again.
timestamp next_look(const queue_state& queue, timestamp now) {
  // Each later change that makes the queue idle lists it.
  if (!is_idle(queue))
    return timestamp::max();
  return queue.totals.records_until > now ? queue.totals.records_until : queue.totals.purged_until;
}

/// The mark that has to stay when the queue is removed; empty when its records have expired.
purge_mark mark_of(const queue_totals& totals, timestamp now) {
  bool is_needed = totals.purged_below > 0 && totals.purged_until > now;
  return is_needed ? purge_mark{totals.purged_below, totals.purged_until} : purge_mark{};
}

bool has_room_for_mark(const shard_state& state, const std::string& tenant, std::size_t more) {
  auto at = state.removed_marks.find(tenant);
  auto marks = at == state.removed_marks.end() ? 0 : at->second.size();
  return marks + more < limits::queues_per_tenant_max;
}

void list_end(shard_state& state, queue_state& queue, timestamp end) {
  if (queue.listed_end)
    state.queue_ends.erase({*queue.listed_end, queue.address});
  queue.listed_end.reset();
  if (end == timestamp::max())
    return;
  state.queue_ends.emplace(end, queue.address);
  queue.listed_end = end;
}

const purge_mark* find_mark(const shard_state& state, const queue_address& queue) {
  auto tenant = state.removed_marks.find(queue.tenant);
  if (tenant == state.removed_marks.end())
    return nullptr;
  auto at = tenant->second.find(queue.queue);
  return at == tenant->second.end() ? nullptr : &at->second;
}

void erase_mark(shard_state& state, const queue_address& queue) {
  const auto* mark = find_mark(state, queue);
  CODEQ_ASSERT(mark);
  state.queue_ends.erase({mark->until, queue});
  auto tenant = state.removed_marks.find(queue.tenant);
  tenant->second.erase(queue.queue);
  if (tenant->second.empty())
    state.removed_marks.erase(tenant);
}

/// The workers that claim from the queue wait for it to exist again.
void move_claimers(shard_state& state, std::uint32_t index) {
  const auto& queue = *state.queues[index];
  for (auto need : {claimer_need::tasks, claimer_need::news, claimer_need::nothing}) {
    for (const auto& [arrival, peer] : queue.claimers.waiting_for(need)) {
      auto& a = state.attached.at(peer);
      std::erase(a.queues, index);
      a.wanted.push_back(queue.address);
      state.wanted_queues[queue.address].push_back(peer);
    }
  }
}

void remove_queue(shard_state& state, const removed_queue& removed) {
  auto at = state.queue_index.find(removed.queue);
  CODEQ_ASSERT(at != state.queue_index.end());
  auto index = at->second;
  auto& queue = *state.queues[index];
  CODEQ_ASSERT(is_idle(queue) && !queue.has_changed_totals);
  move_claimers(state, index);
  unlist_busy(queue, index);
  if (queue.is_stirred)
    std::erase(state.stirred, index);
  if (queue.listed_end)
    state.queue_ends.erase({*queue.listed_end, queue.address});
  auto tenant = state.tenant_queues.find(removed.queue.tenant);
  tenant->second.erase(index);
  if (tenant->second.empty()) {
    state.tenant_queues.erase(tenant);
    state.tenant_fairness.erase(removed.queue.tenant);
  }
  state.queues_by_arrival.erase(queue.arrival);
  state.queue_index.erase(at);
  state.queues[index].reset();
  state.free_queues.push_back(index);
  if (removed.mark.below > 0)
    restore_mark(state, removed.queue, removed.mark);
}

/// Readers on other threads keep the old marks, so they are replaced.
void drop_marks(shard_state& state, const snapshot_taken& c) {
  if (!state.purged)
    return;
  auto marks = std::make_shared<purge_marks>(*state.purged);
  for (const auto& removed : c.removed_queues)
    if (removed.mark.below == 0)
      marks->erase(removed.queue);
  for (const auto& queue : c.expired_marks)
    marks->erase(queue);
  if (marks->size() == state.purged->size())
    return;
  state.purged = marks->empty() ? nullptr : std::move(marks);
}

} // namespace

void take_mark(shard_state& state, queue_state& queue) {
  const auto* mark = find_mark(state, queue.address);
  if (!mark)
    return;
  queue.totals.purged_below = mark->below;
  queue.totals.purged_until = mark->until;
  erase_mark(state, queue.address);
}

void mark_purged(queue_totals& totals, sequence below) {
  totals.purged_below = below;
  if (below < totals.records_below)
    return;
  totals.purged_until = std::max(totals.purged_until, totals.records_until);
  totals.records_until = {};
}

void note_records(shard_state& state, const std::vector<segment_fate>& closed) {
  for (const auto& fate : closed) {
    auto& totals = state.change_totals(state.queue_index.at(fate.queue));
    bool is_gone = std::all_of(
      fate.entries.begin(), fate.entries.end(), [](const task_entry& e) { return e.gone; });
    if (is_gone)
      continue;
    auto until = fate.retention == duration{0} ? timestamp::max() : fate.closed_at + fate.retention;
    auto end = fate.first + fate.entries.size();
    if (end <= totals.purged_below) {
      totals.purged_until = std::max(totals.purged_until, until);
    } else {
      totals.records_until = std::max(totals.records_until, until);
      totals.records_below = std::max(totals.records_below, end);
    }
  }
}

void list_queue_ends(shard_state& state) {
  for (auto index : state.changed_totals) {
    auto& queue = *state.queues[index];
    if (is_idle(queue))
      list_end(state, queue, queue.totals.records_until);
  }
}

void list_all_queue_ends(shard_state& state) {
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    auto& queue = *state.queues[index];
    if (is_idle(queue))
      list_end(state, queue, queue.totals.records_until);
  }
}

void want_queue_ends(shard_state& state) {
  bool is_due = !state.queue_ends.empty() && state.queue_ends.begin()->first <= state.at;
  if (is_due && state.records_since_snapshot == 0)
    state.records_since_snapshot = 1;
}

void note_queue_ends(shard_state& state, snapshot_taken& c) {
  std::map<std::string, std::size_t> new_marks;
  std::vector<queue_state*> later;
  std::size_t looked_at = 0;
  for (auto at = state.queue_ends.begin(); at != state.queue_ends.end() && at->first <= c.at;) {
    if (++looked_at > tuning::queues_removed_per_snapshot_max)
      break;
    auto address = at->second;
    ++at;
    auto index = state.queue_index.find(address);
    if (index == state.queue_index.end()) {
      c.expired_marks.push_back(address);
      continue;
    }
    auto& queue = *state.queues[index->second];
    auto mark = mark_of(queue.totals, c.at);
    // Requests that wait for room refer to the queue by its index.
    bool is_over = is_idle(queue) && queue.totals.records_until <= c.at
                   && !state.parked.is_waiting(index->second);
    bool has_room =
      mark.below == 0 || has_room_for_mark(state, address.tenant, new_marks[address.tenant]);
    if (!is_over || !has_room) {
      later.push_back(&queue);
      continue;
    }
    new_marks[address.tenant] += mark.below > 0 ? 1 : 0;
    c.removed_queues.push_back({address, mark});
  }
  for (auto* queue : later)
    list_end(state, *queue, next_look(*queue, c.at));
  // The snapshot writes no totals of the queues that it removes.
  for (const auto& removed : c.removed_queues) {
    auto index = state.queue_index.at(removed.queue);
    if (std::exchange(state.queues[index]->has_changed_totals, false))
      std::erase(state.changed_totals, index);
  }
}

void remove_queues(shard_state& state, const snapshot_taken& c) {
  for (const auto& removed : c.removed_queues)
    remove_queue(state, removed);
  for (const auto& queue : c.expired_marks)
    erase_mark(state, queue);
  if (!c.removed_queues.empty() || !c.expired_marks.empty())
    drop_marks(state, c);
  want_queue_ends(state);
}

void restore_mark(shard_state& state, const queue_address& queue, const purge_mark& mark) {
  state.removed_marks[queue.tenant].insert_or_assign(queue.queue, mark);
  if (mark.until != timestamp::max())
    state.queue_ends.emplace(mark.until, queue);
}

void restore_purges(shard_state& state) {
  purge_marks marks;
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    if (queue.totals.purged_below > 0)
      marks.emplace(queue.address, queue.totals.purged_below);
  }
  for (const auto& [tenant, removed] : state.removed_marks)
    for (const auto& [name, mark] : removed)
      marks.emplace(queue_address{tenant, name}, mark.below);
  if (!marks.empty())
    state.purged = std::make_shared<const purge_marks>(std::move(marks));
}

void assume_records(shard_state& state, queue_totals& totals) {
  if (totals.completed + totals.cancelled == 0)
    return;
  totals.records_until = state.at + limits::retention_classes.back();
  totals.records_below = state.sequences.next;
  totals.purged_until = totals.purged_below > 0 ? totals.records_until : timestamp{};
}

} // namespace codeq::core
