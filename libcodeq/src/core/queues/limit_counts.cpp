// SPDX-License-Identifier: Apache-2.0
#include "core/queues/limit_counts.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace codeq::core {

namespace {

using tasks_by_name = std::map<std::string, std::uint64_t>;

/// Calls `visit(name, tasks)` for each queue of the tenant and each limit whose permits its tasks
/// wait for. Other shards own the keys of these tasks.
template <class Visit>
void for_each_awaited(const shard_state& state, const std::string& tenant, Visit&& visit) {
  for (const auto& [queue, keys] : state.permits.awaiting())
    if (state.queues[queue]->address.tenant == tenant)
      for (const auto& [name, of] : keys.limits())
        visit(name, of);
}

/// Number of tasks of this shard that wait for permits of others, by limit.
tasks_by_name count_awaited(const shard_state& state, const std::string& tenant) {
  tasks_by_name counted;
  for_each_awaited(state, tenant, [&](const std::string& name, const auto& of) {
    counted[name] += of.tasks;
  });
  return counted;
}

/// The same of a limit, by key; the first `most` keys of the part, or a few more.
tasks_by_name count_awaited_keys(
  const shard_state& state, const limit_address& limit, const limit_part& part, std::size_t most) {
  tasks_by_name counted;
  for_each_awaited(state, limit.tenant, [&](const std::string& name, const auto& of) {
    if (name != limit.name)
      return;
    auto at = part.from_start ? of.keys.begin() : of.keys.upper_bound(part.after);
    for (std::size_t seen = 0; seen < most && at != of.keys.end(); ++seen, ++at)
      counted[at->first] += at->second;
  });
  return counted;
}

/// Number of permits that other shards want, by limit: their tasks count there.
tasks_by_name count_wanted(const shard_state& state, const std::string& tenant) {
  tasks_by_name counted;
  const auto& limits = state.limits;
  limits.keys().for_each_holding_permits([&](std::uint32_t limit, std::uint64_t wanted) {
    if (const auto& name = limits.name_of(limit); name.tenant == tenant)
      counted[name.name] += wanted;
  });
  return counted;
}

std::uint64_t count_of(const tasks_by_name& counted, const std::string& name) {
  auto at = counted.find(name);
  return at == counted.end() ? 0 : at->second;
}

} // namespace

limit_info count_limit(const shard_state& state, const limit_address& limit) {
  auto info = state.limits.describe(limit);
  info.held += count_of(count_awaited(state, limit.tenant), limit.name);
  info.held -= count_of(count_wanted(state, limit.tenant), limit.name);
  return info;
}

std::vector<limit_info> count_limits(
  const shard_state& state, const std::string& tenant, const limit_part& part, bool& more) {
  auto all = state.limits.list(tenant, part, more);
  const auto awaited = count_awaited(state, tenant);
  const auto wanted = count_wanted(state, tenant);
  for (auto& info : all)
    info.held = info.held + count_of(awaited, info.limit.name) - count_of(wanted, info.limit.name);
  return all;
}

limit_key_info
count_limit_key(const shard_state& state, const limit_address& limit, const std::string& key) {
  auto one = state.limits.describe_key(limit, key);
  one.held -= state.limits.held_permits_of(limit, key);
  return one;
}

std::vector<limit_key_info> count_limit_keys(
  const shard_state& state,
  const limit_address& limit,
  const limit_part& part,
  bool only_busy,
  bool& more) {
  auto keys = state.limits.list_keys(limit, part, only_busy, more);
  for (auto& one : keys)
    one.held -= state.limits.held_permits_of(limit, one.key);
  // One more than the part may have tells that there are more.
  auto awaited = count_awaited_keys(state, limit, part, part.limit + std::size_t{1});
  if (awaited.empty())
    return keys;
  if (more)
    awaited.erase(awaited.upper_bound(keys.back().key), awaited.end());
  for (auto& one : keys)
    if (auto at = awaited.find(one.key); at != awaited.end())
      one.held += awaited.extract(at).mapped();
  const auto own = static_cast<std::ptrdiff_t>(keys.size());
  for (const auto& [key, tasks] : awaited) {
    limit_key_info one{key};
    one.held = tasks;
    keys.push_back(std::move(one));
  }
  std::inplace_merge(
    keys.begin(), keys.begin() + own, keys.end(), [](const auto& a, const auto& b) {
      return a.key < b.key;
    });
  more = more || keys.size() > part.limit;
  keys.resize(std::min<std::size_t>(keys.size(), part.limit));
  return keys;
}

} // namespace codeq::core
