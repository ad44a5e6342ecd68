// SPDX-License-Identifier: Apache-2.0
#include "core/queues/limit_forecast.hpp"

#include "codeq/limits.hpp"

#include "core/state/task_limits.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace codeq::core {

namespace {

/// Number of the tenant's ready tasks that name any limit.
std::uint64_t count_limited(const shard_state& state, const std::string& tenant) {
  std::uint64_t tasks = 0;
  for (const auto& queue : state.queues)
    if (queue && queue->address.tenant == tenant)
      tasks += queue->limited + queue->held;
  return tasks;
}

/// Number of ready tasks that name the limit, by key. Sets `is_whole` when all of them were seen.
std::map<std::string, std::uint64_t>
count_waiting(const shard_state& state, const limit_address& limit, bool& is_whole) {
  std::map<std::string, std::uint64_t> waiting;
  auto left = count_limited(state, limit.tenant);
  std::size_t seen = 0;
  auto look_at = [&](const segment& s) {
    if (left == 0 || seen++ == limits::limit_forecast_seen_max)
      return false;
    bool counts = s.limits && state.queues[s.queue]->address.tenant == limit.tenant
                  && s.view(s.first).state == task_state::ready;
    if (!counts)
      return true;
    --left;
    if (const auto* use = find_use(s, limit.name))
      ++waiting[use->key];
    return true;
  };
  if (left > 0)
    state.segments.walk(0, segment_table::no_end, look_at);
  is_whole = left == 0;
  return waiting;
}

} // namespace

void forecast_limit(
  limits_answered& answer,
  const shard_state& state,
  const limit_address& limit,
  const limit_definition& definition) {
  auto waiting = count_waiting(state, limit, answer.has_all_waiting);
  // Tasks of other shards may wait for keys of this one.
  bool has_more_keys = false;
  limit_part part{{}, limits::limits_page_max, true};
  for (const auto& own : state.limits.list_keys(limit, part, false, has_more_keys))
    waiting.try_emplace(own.key, 0);
  for (const auto& [key, tasks] : waiting) {
    limit_key_forecast one{key, tasks, {}};
    if (!state.permits.owner_elsewhere(limit.tenant, {limit.name, key, 1}))
      one.room = state.limits.room_by(definition, limit, key, state.at);
    answer.waiting.push_back(std::move(one));
  }
  auto has_more_tasks = [](const limit_key_forecast& a, const limit_key_forecast& b) {
    return std::tie(b.tasks, a.key) < std::tie(a.tasks, b.key);
  };
  std::sort(answer.waiting.begin(), answer.waiting.end(), has_more_tasks);
  bool is_cut = answer.waiting.size() > limits::limits_page_max;
  if (is_cut)
    answer.waiting.resize(limits::limits_page_max);
  answer.has_all_waiting = answer.has_all_waiting && !has_more_keys && !is_cut;
}

} // namespace codeq::core
