// SPDX-License-Identifier: Apache-2.0
#include "worker/node/waiting_tasks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::worker {

namespace {

/// The pass increment for one start of a queue with weight 1.
constexpr std::uint64_t stride = 1u << 20;

} // namespace

waiting_tasks::lane& waiting_tasks::lane_of(const std::string& queue) {
  auto [at, is_new] = lanes_.try_emplace(queue);
  if (is_new)
    at->second.queue = queue;
  return at->second;
}

void waiting_tasks::add(const lease_key& key, task&& received) {
  auto& lane = lane_of(received.queue);
  auto priority = static_cast<std::size_t>(received.priority);
  lane.tasks[priority].emplace_back(key, std::move(received));
  ++lane.size;
  if (lane.is_listed)
    return;
  lane.pass = std::max(lane.pass, pass_);
  lane.is_listed = true;
  listed_.insert(&lane);
}

void waiting_tasks::forget(const std::string& queue) {
  auto found = lanes_.find(queue);
  if (found == lanes_.end() || found->second.size > 0)
    return;
  // It is listed when its last tasks were dropped.
  if (found->second.is_listed)
    listed_.erase(&found->second);
  lanes_.erase(found);
}

waiting_list waiting_tasks::take_next() {
  waiting_list taken;
  for (auto at = listed_.begin(); at != listed_.end() && taken.empty();) {
    auto& lane = **at;
    if (auto room = rules_.room(lane.queue); room > 0)
      take_from(lane, room, taken);
    bool is_held_up = taken.empty() && lane.size > 0;
    at = is_held_up ? std::next(at) : pass_on(at, taken.size());
  }
  return taken;
}

waiting_tasks::lane_set::iterator
waiting_tasks::pass_on(lane_set::iterator at, std::size_t started) {
  auto next = std::next(at);
  auto place = listed_.extract(at);
  auto& lane = *place.value();
  if (started > 0) {
    pass_ = lane.pass;
    lane.pass += started * stride / lane.weight;
  }
  lane.is_listed = lane.size > 0;
  if (lane.is_listed)
    listed_.insert(std::move(place));
  return next;
}

void waiting_tasks::take_from(lane& from, std::size_t count, waiting_list& to) {
  for (std::size_t priority = from.tasks.size(); priority-- > 0;)
    take_some(from, priority, count, to);
}

void waiting_tasks::take_some(
  lane& from, std::size_t priority, std::size_t count, waiting_list& to) {
  auto& tasks = from.tasks[priority];
  for (auto next = tasks.begin(); next != tasks.end() && to.size() < count;) {
    auto at = next++;
    bool is_held = rules_.is_held(at->key);
    if (is_held && !rules_.may_start(at->attempt))
      continue;
    if (is_held)
      to.splice(to.end(), tasks, at);
    else
      tasks.erase(at);
    --from.size;
  }
}

void waiting_tasks::drop_lost() {
  for (auto* lane : listed_)
    for (auto& tasks : lane->tasks)
      lane->size -= tasks.remove_if([&](const auto& one) { return !rules_.is_held(one.key); });
}

waiting_list waiting_tasks::take_all() {
  waiting_list taken;
  for (auto* lane : listed_) {
    for (auto& tasks : lane->tasks)
      taken.splice(taken.end(), tasks);
    lane->size = 0;
  }
  return taken;
}

} // namespace codeq::worker
