// SPDX-License-Identifier: Apache-2.0
#include "core/checks/fairness_invariants.hpp"

#include "core/state/queue_fairness.hpp"
#include "core/state/task_limits.hpp"

#include <array>
#include <map>

namespace codeq::core {

namespace {

/// Tasks of a key, as counted from the segments.
struct key_count {
  std::uint64_t live = 0;
  std::array<std::uint64_t, limits::priority_max + 1> ready{};
};

/// By the number of the queue, and the name of the key.
using key_counts = std::map<std::uint32_t, std::map<std::string, key_count, std::less<>>>;

key_counts count_keys(const shard_state& state, std::vector<std::string>& found) {
  key_counts counts;
  state.segments.for_each([&](const segment& s) {
    const auto& queue = *state.queues[s.queue];
    if (s.fairness && !queue.fair)
      found.push_back("I8: queue " + queue.address.queue + " has no order of its fairness keys");
    if (!queue.fair)
      return;
    for (std::uint32_t i = 0; i < s.count; ++i) {
      auto is = s.view(s.first + i).state;
      if (is_terminal(is))
        continue;
      auto& count = counts[s.queue][std::string(queue.fair->turns_of(s))];
      ++count.live;
      count.ready[s.priority] += is == task_state::ready && !is_held(state, s) ? 1 : 0;
    }
  });
  return counts;
}

void check_key(
  const queue_state& queue,
  const std::string& name,
  const key_count& count,
  std::vector<std::string>& found) {
  auto who = queue.fair->keys().find(name);
  if (!who || queue.fair->keys().live(*who) != count.live) {
    found.push_back(
      "I9: the live tasks of fairness key '" + name + "' of queue " + queue.address.queue
      + " differ from a recount");
    return;
  }
  for (std::size_t priority = 0; priority < count.ready.size(); ++priority) {
    const auto* lanes = queue.fair->lanes(priority);
    auto ready = lanes ? lanes->ready(*who) : 0;
    bool has_turns = lanes && lanes->has_turns(*who);
    if (ready != count.ready[priority])
      found.push_back(
        "I9: the ready tasks of fairness key '" + name + "' of queue " + queue.address.queue
        + " differ from a recount");
    if (has_turns != (count.ready[priority] > 0))
      found.push_back(
        "I8: fairness key '" + name + "' of queue " + queue.address.queue
        + " has ready tasks but no turns, or turns without ready tasks");
    else if (has_turns && !lanes->is_bounded(*who))
      found.push_back(
        "9.5: fairness key '" + name + "' of queue " + queue.address.queue
        + " has saved up credit");
  }
}

} // namespace

void find_fairness_violations(const shard_state& state, std::vector<std::string>& found) {
  for (const auto& [index, keys] : count_keys(state, found)) {
    const auto& queue = *state.queues[index];
    for (const auto& [name, count] : keys)
      check_key(queue, name, count, found);
    if (queue.fair->keys().active() != keys.size())
      found.push_back(
        "I9: queue " + queue.address.queue + " has fairness keys without live tasks");
  }
}

} // namespace codeq::core
