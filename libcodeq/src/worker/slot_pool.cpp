// SPDX-License-Identifier: Apache-2.0
#include "worker/slot_pool.hpp"

#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace codeq::worker {

slot_pool::slot_pool(std::vector<handler_registry::entry> handlers, std::size_t slots)
  : slots_(slots) {
  for (auto& entry : handlers)
    queues_[entry.queue].factory = std::move(entry.factory);
}

const handler_actor&
slot_pool::start(caf::scheduled_actor* self, const std::string& queue, const lease_key& key) {
  auto& of_queue = queues_.at(queue);
  ++running_;
  if (!of_queue.idle.empty()) {
    auto& reused = slots_by_id_.at(of_queue.idle.back());
    of_queue.idle.pop_back();
    reused.lease = key;
    return reused.handler;
  }
  auto handler = of_queue.factory(self->system());
  self->monitor(handler);
  return slots_by_id_.emplace(handler.id(), slot{handler, &of_queue, key}).first->second.handler;
}

std::optional<lease_key> slot_pool::finish(caf::actor_id sender) {
  auto found = slots_by_id_.find(sender);
  if (found == slots_by_id_.end() || !found->second.lease)
    return std::nullopt;
  --running_;
  // The most recently used handler is used next: its stack and caches are warm.
  found->second.queue->idle.push_back(sender);
  return std::exchange(found->second.lease, std::nullopt);
}

std::optional<lease_key> slot_pool::remove(caf::actor_id handler) {
  auto found = slots_by_id_.find(handler);
  if (found == slots_by_id_.end())
    return std::nullopt;
  auto lease = found->second.lease;
  if (lease)
    --running_;
  else
    std::erase(found->second.queue->idle, handler);
  slots_by_id_.erase(found);
  return lease;
}

void slot_pool::stop() {
  for (auto& [id, slot] : slots_by_id_)
    caf::anon_send_exit(slot.handler, caf::exit_reason::user_shutdown);
}

} // namespace codeq::worker
