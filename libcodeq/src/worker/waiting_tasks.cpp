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
  if (!std::exchange(lane.listed, true)) {
    waiting_.push_back(task.attempt.queue);
    lane.pass = std::max(lane.pass, pass_);
  }
  ++lane.size;
  auto priority = static_cast<std::size_t>(task.attempt.priority);
  lane.tasks[priority].push_back(std::move(task));
}

std::vector<waiting_task> waiting_tasks::take_next() {
  std::sort(waiting_.begin(), waiting_.end(), [this](const auto& a, const auto& b) {
    return lanes_[a].pass < lanes_[b].pass;
  });
  std::vector<waiting_task> taken;
  for (std::size_t i = 0; i < waiting_.size() && taken.empty();) {
    auto& lane = lanes_[waiting_[i]];
    auto room = rules_.room(waiting_[i]);
    if (room > 0)
      take_from(lane, room, taken);
    if (!taken.empty()) {
      pass_ = lane.pass;
      lane.pass += taken.size() * stride / lane.weight;
    }
    lane.listed = lane.size > 0;
    if (lane.listed)
      ++i;
    else
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
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
