// SPDX-License-Identifier: Apache-2.0
#include "core/tables/fair_lanes.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

lane& fair_lanes::enter(
  fair_key who, weights of, std::uint64_t tasks, const key_credits& credits) {
  auto [at, is_new] = lanes_.try_emplace(who.key);
  if (is_new)
    order_.add(who, of.key, of.group, credits);
  at->second.ready += tasks;
  ready_ += tasks;
  return at->second.tasks;
}

void fair_lanes::adopt(
  fair_key who, weights of, lane tasks, std::uint64_t ready, const key_credits& credits) {
  enter(who, of, ready, credits) = std::move(tasks);
}

sequence fair_lanes::first(segment_table& segments) {
  constexpr int tries_max = 8;
  auto least = [&] {
    return std::min_element(lanes_.begin(), lanes_.end(), [](const auto& a, const auto& b) {
      return *a.second.tasks.lower_bound() < *b.second.tasks.lower_bound();
    });
  };
  auto oldest = segment_table::no_end;
  for (int i = 0; i < tries_max; ++i) {
    auto bounded = least();
    if (*bounded->second.tasks.lower_bound() >= oldest)
      break;
    // The task at the bound may have left since.
    auto [fresh, returned] = bounded->second.tasks.first_tasks(segments);
    oldest = std::min({oldest, fresh.value_or(oldest), returned.value_or(oldest)});
  }
  return oldest;
}

void fair_lanes::leave(fair_key who, sequence seq, bool was_returned) {
  auto at = lanes_.find(who.key);
  CODEQ_ASSERT(at != lanes_.end());
  if (was_returned)
    at->second.tasks.remove(seq);
  --ready_;
  if (--at->second.ready > 0)
    return;
  lanes_.erase(at);
  order_.remove(who);
}

void fair_lanes::forget(fair_key who, sequence segment) {
  if (auto at = lanes_.find(who.key); at != lanes_.end())
    at->second.tasks.forget(segment);
}

std::size_t fair_lanes::segments() const {
  std::size_t all = 0;
  for (const auto& [key, of] : lanes_)
    all += of.tasks.segments();
  return all;
}

fair_lanes::turn
fair_lanes::front(segment_table& segments, const fair_keys& keys, std::uint32_t limit) {
  auto choice = next(keys);
  auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(choice.tasks, limit));
  auto tasks = lanes_.at(choice.who.key).tasks.front(segments, most);
  return {choice.who, tasks, choice.time, choice.behind};
}

void fair_lanes::set_weights(fair_key who, weights of) {
  order_.set_key_weight(who, of.key);
  order_.set_group_weight(who.group, of.group);
}

} // namespace codeq::core
