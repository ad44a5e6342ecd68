// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_slots.hpp"

#include <string>

namespace codeq::core {

void join_slots(shard_state& state, std::uint32_t index) {
  auto& queue = *state.queues[index];
  const auto& [tenant, name] = queue.address;
  queue.lent = state.lent.lent_of(queue.address);
  if (!state.permits.owner_elsewhere(tenant, {std::string(slot_limit), name, 1}))
    return;
  queue.slots = 0;
  if (queue.settings.config.max_leased != 0)
    state.permits.open_slots(index, queue.address, queue.leased);
}

void change_maximum(shard_state& state, std::uint32_t index, std::uint64_t before) {
  auto& queue = *state.queues[index];
  auto after = queue.settings.config.max_leased;
  state.lent.look_at_slots(queue.address);
  if (!queue.slots || (before == 0) == (after == 0))
    return;
  queue.slots = 0;
  state.permits.sync_turn();
  if (after == 0)
    state.permits.close_slots(index);
  else
    state.permits.open_slots(index, queue.address, queue.leased);
}

void spend_slot(shard_state& state, std::uint32_t index) {
  auto& queue = *state.queues[index];
  if (queue.has_slots()) {
    state.permits.spend_slot(index);
    queue.slots = state.permits.free_slots(index);
  } else if (queue.settings.config.max_leased != 0) {
    state.lent.note_own_lease(queue.address);
  }
}

void end_slot(shard_state& state, std::uint32_t index) {
  auto& queue = *state.queues[index];
  if (queue.settings.config.max_leased != 0)
    state.lent.look_at_slots(queue.address);
  if (!queue.has_slots())
    return;
  state.permits.end_slot(index, state.steady);
  queue.slots = state.permits.free_slots(index);
}

bool awaits_slots(const shard_state& state, const queue_state& queue) {
  return queue.has_slots()
         && state.permits.awaited_slots(state.queue_index.at(queue.address)) > 0;
}

void take_changed_slots(shard_state& state) {
  for (auto index : state.permits.take_changed_slots()) {
    state.queues[index]->slots = state.permits.free_slots(index);
    state.stir(index);
  }
}

} // namespace codeq::core
