// SPDX-License-Identifier: Apache-2.0
#include "worker/node/slot_pool.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace codeq::worker {

served_queue served_by(const handler_registry::entry& handler) {
  served_queue served{handler.queue, handler.options.slots, handler.options.weight};
  served.handler = handler.queue;
  served.run_in = handler.options.run_in;
  if (const auto* batch = std::get_if<handler_registry::batch>(&handler.handler)) {
    served.takes_batches = true;
    served.batch_max = batch->tasks_max;
  }
  if (const auto* actors = std::get_if<handler_registry::actors>(&handler.handler))
    served.idle = actors->idle;
  return served;
}

slot_pool::slot_pool(
  const std::vector<served_queue>& queues, std::size_t slots, start_function start_handler)
  : start_handler_(std::move(start_handler)), slots_(slots) {
  configure(queues, slots);
}

void slot_pool::configure(const std::vector<served_queue>& queues, std::size_t slots) {
  slots_ = slots;
  for (auto& [name, queue] : queues_)
    queue.is_handled = false;
  patterns_.clear();
  served_patterns_.clear();
  for (const auto& served : queues) {
    auto pattern = base::queue_pattern::parse(served.queue);
    if (!pattern || pattern->is_one_queue()) {
      serve(served.queue, served, false);
    } else {
      patterns_.push_back(std::move(*pattern));
      served_patterns_.push_back(served);
      // It may have idle handlers, but no queue at present.
      kinds_[served.handler.empty() ? served.queue : served.handler].run_in = served.run_in;
    }
  }
  for (auto& [name, queue] : queues_) {
    if (queue.is_handled)
      continue;
    if (const auto* served = find_pattern(name))
      serve(name, *served, true);
    else if (std::exchange(queue.is_adopted, false))
      --adopted_;
  }
}

void slot_pool::serve(const std::string& queue, served_queue served, bool is_adopted) {
  if (served.handler.empty())
    served.handler = served.queue;
  auto& of_queue = queues_[queue];
  adopted_ += is_adopted && !of_queue.is_adopted ? 1 : 0;
  adopted_ -= !is_adopted && of_queue.is_adopted ? 1 : 0;
  of_queue.served = std::move(served);
  of_queue.served.queue = queue;
  of_queue.kind = &kinds_[of_queue.served.handler];
  of_queue.kind->run_in = of_queue.served.run_in;
  of_queue.is_handled = true;
  of_queue.is_adopted = is_adopted;
}

const served_queue* slot_pool::find_pattern(const std::string& queue) const {
  const auto* found = base::most_specific(patterns_, base::queue_pattern::of_queue(queue));
  return found ? &served_patterns_[static_cast<std::size_t>(found - patterns_.data())] : nullptr;
}

bool slot_pool::adopt(const std::string& queue) {
  const auto* served = find_pattern(queue);
  if (!served)
    return false;
  serve(queue, *served, true);
  return true;
}

bool slot_pool::is_adopted(const std::string& queue) const {
  auto found = queues_.find(queue);
  return found != queues_.end() && found->second.is_adopted;
}

bool slot_pool::forget(const std::string& queue) {
  auto found = queues_.find(queue);
  bool is_idle = found != queues_.end() && found->second.is_adopted && found->second.running == 0
                 && found->second.keyed.empty();
  if (!is_idle)
    return false;
  queues_.erase(found);
  --adopted_;
  return true;
}

std::vector<std::string> slot_pool::patterns() const {
  std::vector<std::string> texts;
  for (const auto& pattern : patterns_)
    texts.push_back(pattern.text());
  return texts;
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
  auto own = of_queue.served.slots;
  return own == 0 ? slots_ : std::min(own, slots_);
}

std::size_t slot_pool::room(const std::string& queue) const {
  const auto& of_queue = queues_.at(queue);
  auto most = slots_of(of_queue);
  // The number of slots may have been reduced while tasks run in them.
  if (!of_queue.is_handled || running_ >= slots_ || of_queue.running >= most)
    return 0;
  return std::min({of_queue.served.batch_max, slots_ - running_, most - of_queue.running});
}

bool slot_pool::may_start(const task& attempt) const {
  if (attempt.group.empty())
    return true;
  const auto& of_queue = queues_.at(attempt.queue);
  auto found = of_queue.keyed.find(attempt.group);
  return found == of_queue.keyed.end() || !slots_by_number_.at(found->second).is_running;
}

std::size_t slot_pool::running_of(const std::string& queue) const {
  auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : found->second.running;
}

slot_pool::started slot_pool::start(const waiting_list& together) {
  const auto& first = together.front().attempt;
  auto& of_queue = queues_.at(first.queue);
  running_ += together.size();
  of_queue.running += together.size();
  auto handler = find_or_start(of_queue, first.group);
  auto& used = slots_by_number_.at(handler);
  used.is_running = true;
  used.queue = &of_queue;
  used.leases.clear();
  for (const auto& task : together)
    used.leases.push_back(task.key);
  return {handler, of_queue.served.takes_batches};
}

handler_number slot_pool::find_or_start(queue_slots& of_queue, const std::string& group) {
  bool is_keyed = of_queue.served.idle && !group.empty();
  if (auto of_group = of_queue.keyed.find(group); is_keyed && of_group != of_queue.keyed.end())
    return of_group->second;
  auto& idle = of_queue.kind->idle;
  if (!is_keyed && !idle.empty()) {
    auto handler = idle.back();
    idle.pop_back();
    return handler;
  }
  auto lives_for = is_keyed ? group : std::string();
  auto handler = start_handler_(of_queue.served.handler, lives_for);
  if (is_keyed)
    of_queue.keyed.emplace(group, handler);
  slots_by_number_.emplace(
    handler,
    slot{of_queue.kind, &of_queue, std::move(lives_for), of_queue.kind->run_in, false, {}, {}});
  return handler;
}

std::span<const lease_key> slot_pool::finish(handler_number handler, monotonic_time now) {
  auto found = slots_by_number_.find(handler);
  if (found == slots_by_number_.end() || !found->second.is_running)
    return {};
  auto& used = found->second;
  used.is_running = false;
  running_ -= used.leases.size();
  used.queue->running -= used.leases.size();
  used.idle_since = now;
  // The most recently used handler is used next, since its stack and caches are warm.
  if (used.group.empty())
    used.kind->idle.push_back(handler);
  return used.leases;
}

std::vector<lease_key> slot_pool::remove(handler_number handler) {
  auto found = slots_by_number_.find(handler);
  if (found == slots_by_number_.end())
    return {};
  std::vector<lease_key> leases;
  if (found->second.is_running) {
    leases = std::move(found->second.leases);
    running_ -= leases.size();
    found->second.queue->running -= leases.size();
  }
  let_go(handler);
  return leases;
}

void slot_pool::let_go(handler_number handler) {
  auto found = slots_by_number_.find(handler);
  if (found->second.group.empty())
    std::erase(found->second.kind->idle, handler);
  else
    found->second.queue->keyed.erase(found->second.group);
  slots_by_number_.erase(found);
}

bool slot_pool::retire(handler_number handler) {
  auto found = slots_by_number_.find(handler);
  if (found == slots_by_number_.end() || found->second.is_running)
    return false;
  const auto& idle = found->second;
  // The queue of a group's handler may have got options of its own, beside those of its pattern.
  const auto& kind = idle.group.empty() ? *idle.kind : *idle.queue->kind;
  if (idle.run_in == kind.run_in)
    return false;
  let_go(handler);
  return true;
}

monotonic_time slot_pool::passivated_at(handler_number handler, monotonic_time now) const {
  auto found = slots_by_number_.find(handler);
  if (found == slots_by_number_.end() || found->second.group.empty())
    return monotonic_time::max();
  const auto& of_queue = *found->second.queue;
  return of_queue.keyed.size() > limits::keyed_actors_max ? now : now + *of_queue.served.idle;
}

slot_pool::passivated slot_pool::passivate(monotonic_time now) {
  passivated ends{{}, monotonic_time::max()};
  for (const auto& [number, slot] : slots_by_number_) {
    if (slot.group.empty() || slot.is_running)
      continue;
    auto end = slot.idle_since + *slot.queue->served.idle;
    bool are_many = slot.queue->keyed.size() > limits::keyed_actors_max;
    if (end <= now || are_many)
      ends.over.push_back(number);
    else
      ends.next = std::min(ends.next, end);
  }
  std::sort(ends.over.begin(), ends.over.end());
  for (auto handler : ends.over)
    let_go(handler);
  return ends;
}

std::vector<handler_number> slot_pool::handlers() const {
  std::vector<handler_number> all;
  for (const auto& [number, slot] : slots_by_number_)
    all.push_back(number);
  std::sort(all.begin(), all.end());
  return all;
}

} // namespace codeq::worker
