// SPDX-License-Identifier: Apache-2.0
#include "core/state/shard_state.hpp"

#include "core/state/queue_fairness.hpp"
#include "core/state/queue_removal.hpp"
#include "core/state/queue_slots.hpp"

namespace codeq::core {

queue_state::queue_state() = default;
queue_state::~queue_state() = default;

shard_state::shard_state(shard_id id, std::uint32_t epoch, std::uint64_t name_seed)
  : id(id),
    epoch(epoch),
    sequences{first_of_epoch(epoch)},
    tokens{first_of_epoch(epoch)},
    positions{first_of_epoch(epoch)},
    names(name_seed) {
}

std::uint32_t shard_state::intern(const queue_address& address) {
  auto place = free_queues.empty() ? queues.size() : free_queues.back();
  auto [at, is_new] = queue_index.try_emplace(address, static_cast<std::uint32_t>(place));
  if (is_new) {
    if (free_queues.empty())
      queues.emplace_back();
    else
      free_queues.pop_back();
    auto& queue = *(queues[place] = std::make_unique<queue_state>());
    queue.address = address;
    queue.arrival = queues_created++;
    queues_by_arrival.emplace(queue.arrival, at->second);
    take_mark(*this, queue);
    // The name must be stored even when the queue has no other records.
    change_totals(at->second).queue = address;
    tenant_queues[address.tenant].insert(at->second);
    join_slots(*this, at->second);
    if (board)
      queue.board = board->join(address, id);
    link_prefixes(*this, at->second);
    attach_waiting(at->second);
  }
  return at->second;
}

void shard_state::attach_waiting(std::uint32_t queue) {
  const auto& address = queues[queue]->address;
  auto waiting = wanted_queues.extract(address);
  if (!waiting)
    return;
  for (auto peer : waiting.mapped()) {
    auto& a = attached.at(peer);
    std::erase(a.wanted, address);
    a.queues.push_back(queue);
    queues[queue]->claimers.add({a.arrival, peer}, a.listed_need);
  }
}

void shard_state::list_need(peer_id peer) {
  auto& a = attached.at(peer);
  auto listed = std::exchange(a.listed_need, a.need());
  if (listed == a.listed_need)
    return;
  for (auto queue : a.queues)
    queues[queue]->claimers.move({a.arrival, peer}, listed, a.listed_need);
  for (const auto& prefix : a.prefixes)
    prefix.claims->claimers.move({a.arrival, peer}, listed, a.listed_need);
}

const queue_state* shard_state::find_queue(const queue_address& address) const {
  auto at = queue_index.find(address);
  return at == queue_index.end() ? nullptr : queues[at->second].get();
}

queue_state* shard_state::find_queue(const queue_address& address) {
  auto at = queue_index.find(address);
  return at == queue_index.end() ? nullptr : queues[at->second].get();
}

bool shard_state::has_room_for(const queue_address& address) const {
  if (queue_index.contains(address))
    return true;
  auto tenant = tenant_queues.find(address.tenant);
  return tenant == tenant_queues.end() || tenant->second.size() < limits::queues_per_tenant_max;
}

queue_totals& shard_state::change_totals(std::uint32_t queue) {
  if (!std::exchange(queues[queue]->has_changed_totals, true))
    changed_totals.push_back(queue);
  return queues[queue]->totals;
}

void shard_state::settle_totals() {
  for (auto queue : changed_totals)
    queues[queue]->has_changed_totals = false;
  changed_totals.clear();
}

void shard_state::stir(std::uint32_t queue) {
  if (!std::exchange(queues[queue]->is_stirred, true))
    stirred.push_back(queue);
  move_head(queue);
}

void shard_state::join_board(std::shared_ptr<ready_board> shared) {
  board = std::move(shared);
  for (const auto& [arrival, index] : queues_by_arrival) {
    auto& queue = *queues[index];
    queue.board = board->join(queue.address, id);
    if (queue.fair)
      queue.fair->share(*queue.board);
  }
  move_all_heads();
}

void shard_state::move_all_heads() {
  for (const auto& [arrival, index] : queues_by_arrival)
    move_head(index);
}

ready_head shard_state::first_ready(queue_state& queue) {
  auto priority = queue.first_priority();
  if (queue.fair)
    return {priority, time_of_turn(queue.fair->next(priority).time)};
  auto first = queue.lanes[priority]->front(segments, 1);
  CODEQ_ASSERT(first.count == 1);
  return {priority, find_segment(segments, first.first)->enqueued_at};
}

void shard_state::publish_turn(queue_state& queue) {
  auto priority = queue.first_priority();
  auto next = queue.fair->next(priority);
  queue.head = {priority, time_of_turn(next.time)};
  queue.waits = next.behind ? queue.fair->ring_of(priority, next.who) : waiting_ring{};
  queue.board->publish_turn(
    {*queue.head, queue.fair->only_credit(priority, next.who), queue.waits});
}

void shard_state::publish_heads() {
  for (auto index : std::exchange(moved_heads, {})) {
    auto* queue = queues[index].get();
    // The queue may have been removed.
    if (!queue)
      continue;
    queue->has_moved_head = false;
    bool has_task = !are_grants_paused && queue->grantable() > 0;
    if (has_task && queue->fair) {
      publish_turn(*queue);
      continue;
    }
    queue->waits = {};
    auto head = has_task ? std::optional{first_ready(*queue)} : std::nullopt;
    if (std::exchange(queue->head, head) != head)
      queue->board->publish(head);
  }
}

void shard_state::join_turns(queue_state& queue) {
  if (!queue.fair && queue.board && queue.board->has_turns())
    add_fairness(queue);
}

void shard_state::use_fairness(const segment& s) {
  auto& queue = queue_of(s);
  if (s.fairness && !queue.fair)
    add_fairness(queue);
}

void shard_state::add_fairness(queue_state& queue) {
  auto& use = tenant_fairness[queue.address.tenant];
  if (!use)
    use = std::make_shared<fairness_use>();
  queue.fair = std::make_unique<queue_fairness>(queue, use);
}

lane& shard_state::lane_of(const segment& s) {
  if (auto* fair = queues[s.queue]->fair.get())
    return fair->lane_of(s);
  auto& slot = queues[s.queue]->lanes[s.priority];
  if (!slot)
    slot = std::make_unique<lane>();
  return *slot;
}

std::optional<peer_id> shard_state::peer_of(const worker_identity& worker) const {
  auto at = peers_by_worker.lower_bound({worker, 0});
  bool is_found = at != peers_by_worker.end() && at->first == worker;
  return is_found ? std::optional{at->second} : std::nullopt;
}

} // namespace codeq::core
