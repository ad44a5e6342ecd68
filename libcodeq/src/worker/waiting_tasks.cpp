// SPDX-License-Identifier: Apache-2.0
#include "worker/waiting_tasks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::worker {

namespace {

/// One start of a queue of weight 1.
constexpr std::uint64_t stride = 1u << 20;

} // namespace

void waiting_tasks::add(waiting_task task) {
  auto& lane = lanes_[task.attempt.queue];
  if (!lane.listed) {
    lane.pass = std::max(lane.pass, pass_);
    list(task.attempt.queue, lane);
  }
  ++lane.size;
  auto priority = static_cast<std::size_t>(task.attempt.priority);
  lane.tasks[priority].push_back(std::move(task));
}

void waiting_tasks::list(const std::string& queue, lane& of) {
  of.listed = true;
  waiting_.insert({of.pass, queue});
}

std::vector<waiting_task> waiting_tasks::take_next() {
  std::vector<waiting_task> taken;
  for (auto at = waiting_.begin(); at != waiting_.end() && taken.empty();) {
    auto& lane = lanes_[at->second];
    if (auto room = rules_.room(at->second); room > 0)
      take_from(lane, room, taken);
    if (taken.empty() && lane.size > 0) {
      ++at;
      continue;
    }
    if (!taken.empty()) {
      pass_ = lane.pass;
      lane.pass += taken.size() * stride / lane.weight;
    }
    auto queue = at->second;
    at = waiting_.erase(at);
    lane.listed = false;
    if (lane.size > 0)
      list(queue, lane);
  }
  return taken;
}

void waiting_tasks::take_from(lane& from, std::size_t count, std::vector<waiting_task>& to) {
  for (std::size_t priority = from.tasks.size(); priority-- > 0;)
    take_some(from, priority, count, to);
}

void waiting_tasks::take_some(
  lane& from, std::size_t priority, std::size_t count, std::vector<waiting_task>& to) {
  auto& tasks = from.tasks[priority];
  for (auto at = tasks.begin(); at != tasks.end() && to.size() < count;) {
    bool is_held = rules_.is_held(at->key);
    if (is_held && !rules_.may_start(at->attempt)) {
      ++at;
      continue;
    }
    if (is_held)
      to.push_back(std::move(*at));
    at = tasks.erase(at);
    --from.size;
  }
}

std::vector<waiting_task> waiting_tasks::take_all(const std::string& queue) {
  std::vector<waiting_task> taken;
  auto& lane = lanes_[queue];
  for (auto& tasks : lane.tasks)
    for (auto& task : std::exchange(tasks, {}))
      taken.push_back(std::move(task));
  lane.size = 0;
  return taken;
}

std::vector<waiting_task> waiting_tasks::take_all() {
  std::vector<waiting_task> taken;
  for (auto& [queue, lane] : lanes_) {
    auto of_queue = take_all(queue);
    std::move(of_queue.begin(), of_queue.end(), std::back_inserter(taken));
  }
  return taken;
}

} // namespace codeq::worker
