// SPDX-License-Identifier: Apache-2.0
#include "worker/slot_pool.hpp"

#include "worker/batch_handler.hpp"

#include <caf/actor_cast.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace codeq::worker {

slot_pool::slot_pool(std::vector<handler_registry::entry> handlers, std::size_t slots)
  : slots_(slots) {
  configure(std::move(handlers), slots);
}

void slot_pool::configure(std::vector<handler_registry::entry> handlers, std::size_t slots) {
  slots_ = slots;
  for (auto& [name, queue] : queues_)
    queue.is_handled = false;
  for (auto& entry : handlers) {
    auto name = entry.queue;
    auto& queue = queues_[name];
    queue.handler = std::move(entry);
    queue.is_handled = true;
  }
}

bool slot_pool::handles(const std::string& queue) const {
  auto found = queues_.find(queue);
  return found != queues_.end() && found->second.is_handled;
}

std::vector<std::string> slot_pool::queues() const {
  std::vector<std::string> names;
  for (const auto& [name, queue] : queues_)
    if (queue.is_handled)
      names.push_back(name);
  return names;
}

std::size_t slot_pool::slots_of(const std::string& queue) const {
  return slots_of(queues_.at(queue));
}

std::size_t slot_pool::slots_of(const queue_slots& of_queue) const {
  auto own = of_queue.handler.options.slots;
  return own == 0 ? slots_ : std::min(own, slots_);
}

std::size_t slot_pool::room(const std::string& queue) const {
  const auto& of_queue = queues_.at(queue);
  auto most = slots_of(of_queue);
  // Slots may have been taken away while tasks run in them.
  if (!of_queue.is_handled || running_ >= slots_ || of_queue.running >= most)
    return 0;
  return std::min({of_queue.handler.batch_max, slots_ - running_, most - of_queue.running});
}

bool slot_pool::may_start(const task& attempt) const {
  if (attempt.group.empty())
    return true;
  const auto& of_queue = queues_.at(attempt.queue);
  auto found = of_queue.keyed.find(attempt.group);
  return found == of_queue.keyed.end() || !slots_by_id_.at(found->second).is_running;
}

std::size_t slot_pool::running_of(const std::string& queue) const {
  auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : found->second.running;
}

slot_pool::started slot_pool::start(caf::scheduled_actor* self, const waiting_list& together) {
  const auto& first = together.front().attempt;
  auto& of_queue = queues_.at(first.queue);
  running_ += together.size();
  of_queue.running += together.size();
  auto& used = find_or_spawn(self, of_queue, first.group);
  used.is_running = true;
  used.leases.clear();
  for (const auto& task : together)
    used.leases.push_back(task.key);
  return {used.handler, static_cast<bool>(of_queue.handler.batch)};
}

slot_pool::slot& slot_pool::find_or_spawn(
  caf::scheduled_actor* self, queue_slots& of_queue, const std::string& group) {
  bool is_keyed = of_queue.handler.idle && !group.empty();
  if (auto of_group = of_queue.keyed.find(group); is_keyed && of_group != of_queue.keyed.end())
    return slots_by_id_.at(of_group->second);
  if (!is_keyed && !of_queue.idle.empty()) {
    auto id = of_queue.idle.back();
    of_queue.idle.pop_back();
    return slots_by_id_.at(id);
  }
  auto handler = spawn(self->system(), of_queue, is_keyed ? group : std::string());
  self->monitor(handler);
  if (is_keyed)
    of_queue.keyed.emplace(group, handler.id());
  slot made{handler, &of_queue, is_keyed ? group : std::string(), false, {}, {}};
  return slots_by_id_.emplace(handler.id(), std::move(made)).first->second;
}

caf::actor
slot_pool::spawn(caf::actor_system& system, const queue_slots& of_queue, const std::string& group) {
  const auto& handler = of_queue.handler;
  if (handler.batch)
    return caf::actor_cast<caf::actor>(spawn_batch_handler(system, handler.batch));
  handler_placement placement{group, handler.options.run_in == isolation::thread};
  placement.own_thread = placement.own_thread || static_cast<bool>(handler.function);
  return caf::actor_cast<caf::actor>(handler.factory(system, placement));
}

std::span<const lease_key> slot_pool::finish(caf::actor_id sender, monotonic_time now) {
  auto found = slots_by_id_.find(sender);
  if (found == slots_by_id_.end() || !found->second.is_running)
    return {};
  auto& used = found->second;
  used.is_running = false;
  running_ -= used.leases.size();
  used.queue->running -= used.leases.size();
  used.idle_since = now;
  // The most recently used handler is used next: its stack and caches are warm.
  if (used.group.empty())
    used.queue->idle.push_back(sender);
  return used.leases;
}

std::vector<lease_key> slot_pool::remove(caf::actor_id handler) {
  auto found = slots_by_id_.find(handler);
  if (found == slots_by_id_.end())
    return {};
  std::vector<lease_key> leases;
  if (found->second.is_running)
    leases = std::move(found->second.leases);
  running_ -= leases.size();
  found->second.queue->running -= leases.size();
  let_go(handler);
  return leases;
}

void slot_pool::let_go(caf::actor_id handler) {
  auto found = slots_by_id_.find(handler);
  auto& of_queue = *found->second.queue;
  if (found->second.group.empty())
    std::erase(of_queue.idle, handler);
  else
    of_queue.keyed.erase(found->second.group);
  slots_by_id_.erase(found);
}

monotonic_time slot_pool::passivated_at(caf::actor_id handler, monotonic_time now) const {
  auto found = slots_by_id_.find(handler);
  if (found == slots_by_id_.end() || found->second.group.empty())
    return monotonic_time::max();
  const auto& of_queue = *found->second.queue;
  return of_queue.keyed.size() > limits::keyed_actors_max ? now : now + *of_queue.handler.idle;
}

monotonic_time slot_pool::passivate(monotonic_time now) {
  std::vector<caf::actor_id> over;
  auto next = monotonic_time::max();
  for (const auto& [id, slot] : slots_by_id_) {
    if (slot.group.empty() || slot.is_running)
      continue;
    auto end = slot.idle_since + *slot.queue->handler.idle;
    bool are_many = slot.queue->keyed.size() > limits::keyed_actors_max;
    if (end <= now || are_many)
      over.push_back(id);
    else
      next = std::min(next, end);
  }
  for (auto id : over) {
    caf::anon_send_exit(slots_by_id_.at(id).handler, caf::exit_reason::user_shutdown);
    let_go(id);
  }
  return next;
}

void slot_pool::stop() {
  for (auto& [id, slot] : slots_by_id_)
    caf::anon_send_exit(slot.handler, caf::exit_reason::user_shutdown);
}

} // namespace codeq::worker
