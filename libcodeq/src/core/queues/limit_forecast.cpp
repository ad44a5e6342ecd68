// SPDX-License-Identifier: Apache-2.0
#include "core/queues/limit_forecast.hpp"

#include "codeq/limits.hpp"

#include "core/queues/limit_counts.hpp"
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

/// A number of tasks by key.
using tasks_of_keys = std::map<std::string, std::uint64_t>;

/// Number of ready tasks of this shard that the limit holds back, by key. Has the keys in use that
/// hold none. Sets `has_more` when there are further keys.
tasks_of_keys
count_held(const shard_state& state, const limit_address& limit, bool& has_more) {
  tasks_of_keys held;
  limit_part part{{}, limits::limit_forecast_seen_max, true};
  for (const auto& one : count_limit_keys(state, limit, part, false, has_more))
    held[one.key] = one.held;
  return held;
}

/// Number of ready tasks that name the limit, by key, as far as they were seen. Sets `is_whole`
/// when these are all of them.
tasks_of_keys
count_seen(const shard_state& state, const limit_address& limit, bool& is_whole) {
  tasks_of_keys waiting;
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
  state.segments.walk(0, segment_table::no_end, look_at);
  is_whole = left == 0;
  return waiting;
}

/// Number of ready tasks that name the limit, by key; not fewer than it holds back. Has the keys in
/// use that no task waits for: tasks of other shards may. Sets `is_whole` when none is left out.
tasks_of_keys
count_waiting(const shard_state& state, const limit_address& limit, bool& is_whole) {
  bool has_more = false;
  auto waiting = count_held(state, limit, has_more);
  std::uint64_t held = 0;
  for (const auto& [key, tasks] : waiting)
    held += tasks;
  is_whole = held == count_limited(state, limit.tenant);
  if (!is_whole)
    for (const auto& [key, tasks] : count_seen(state, limit, is_whole))
      waiting[key] = std::max(waiting[key], tasks);
  is_whole = is_whole && !has_more;
  return waiting;
}

} // namespace

void forecast_limit(
  limits_answered& answer,
  const shard_state& state,
  const limit_address& limit,
  const limit_definition& definition) {
  auto waiting = count_waiting(state, limit, answer.has_all_waiting);
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
  answer.has_all_waiting = answer.has_all_waiting && !is_cut;
}

} // namespace codeq::core
